// Same maths as the CPU; the counting itself is a scheme of ratio_histogram/.
#include <freeflow/similarity/correlation_ratio_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const RatioMovingBody&);
template void for_each_voxel(backend::Cuda, Extent, const RatioFixedBody&);
template void for_each_voxel(backend::Cuda, Extent, const RatioForceBody&);
template void for_each_voxel(backend::Cuda, Extent, const RatioParzenForceBody&);

}  // namespace freeflow
