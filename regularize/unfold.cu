// Same maths as the CPU.
#include <freeflow/regularize/unfold_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const FirstLookBody&);
template void for_each_voxel(backend::Cuda, Extent, const CountFirstBody&);
template void for_each_voxel(backend::Cuda, Extent, const CountRowsBody&);
template void for_each_voxel(backend::Cuda, Extent, const CountBlocksBody&);
template void for_each_voxel(backend::Cuda, Extent, const PlanBody&);
template void for_each_voxel(backend::Cuda, Extent, const OpenCornersBody&);
template void for_each_voxel(backend::Cuda, Extent, const AverageBody&);

}  // namespace freeflow
