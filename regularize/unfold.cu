// Same maths as the CPU.
#include <freeflow/regularize/unfold_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const FoldIndicatorBody&);
template void for_each_voxel(backend::Cuda, Extent, const SmoothFlaggedBody&);
template void reduce(backend::Cuda, std::size_t, int, const FoldCountBody&, double*, double*);

}  // namespace freeflow
