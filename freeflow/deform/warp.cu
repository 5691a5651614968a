// Same maths as the CPU: one thread per voxel.
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/deform/warp_body.h>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const WarpNearestBody&);
template void for_each_voxel(backend::Cuda, Extent, const WarpLinearBody&);
template void for_each_voxel(backend::Cuda, Extent, const WarpCubicBody&);
template void for_each_voxel(backend::Cuda, Extent, const PrefilterLineBody&);
template void for_each_voxel(backend::Cuda, Extent, const ReplaceNanBody&);
template void for_each_voxel(backend::Cuda, Extent, const WarpValuesBody&);
template void for_each_voxel(backend::Cuda, Extent, const WarpWithGradientBody&);

}  // namespace freeflow
