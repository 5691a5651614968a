// Same maths as the CPU.
#include <freeflow/transform/resample_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const WarpNearestBody<ChainPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpLinearBody<ChainPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpCubicBody<ChainPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const LabelNearestBody<ChainPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const LabelVoteBody<ChainPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpNearestBody<StoredPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpLinearBody<StoredPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpCubicBody<StoredPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const LabelNearestBody<StoredPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const LabelVoteBody<StoredPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const StorePointBody&);

}  // namespace freeflow
