// Same maths as the CPU.
#include <freeflow/registration/levels/pyramid_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const MaskBody&);
template void for_each_voxel(backend::Cuda, Extent, const InsideMaskBody&);
template void reduce(backend::Cuda, std::size_t, int, const LargestMaskBody&, double*, double*);

}  // namespace freeflow
