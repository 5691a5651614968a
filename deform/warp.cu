// Same maths as the CPU: one thread per voxel.
#include <freeflow/deform/warp_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const WarpNearestBody<DisplacedPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpNearestBody<PointThroughField>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpLinearBody<DisplacedPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpLinearBody<PointThroughField>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpCubicBody<DisplacedPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const WarpCubicBody<PointThroughField>&);
template void for_each_voxel(backend::Cuda, Extent, const PrefilterLineBody&);
template void for_each_voxel(backend::Cuda, Extent, const FillHolesLineBody&);
template void for_each_voxel(backend::Cuda, Extent, const WarpValuesBody&);
template void for_each_voxel(backend::Cuda, Extent, const WarpWithGradientBody&);

}  // namespace freeflow
