// Same maths as the CPU.
#include <freeflow/registration/ffd/optimizer_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const CombineBody&);
template void for_each_voxel(backend::Cuda, Extent, const StepBody&);
template void for_each_voxel(backend::Cuda, Extent, const HistoryBody&);
template void reduce(backend::Cuda, std::size_t, int, const DotBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const LargestBody&, double*, double*);

}  // namespace freeflow
