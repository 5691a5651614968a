// Same maths as the CPU: one thread per output of a pass, taps in the same order.
#include <freeflow/deform/control_point_grid_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const InterpolateAlongXBody&);
template void for_each_voxel(backend::Cuda, Extent, const InterpolateAxisBody&);
template void for_each_voxel(backend::Cuda, Extent, const GatherAlongXBody&);
template void for_each_voxel(backend::Cuda, Extent, const GatherAxisBody&);
template void for_each_voxel(backend::Cuda, Extent, const RefineAxisBody&);
template void for_each_voxel(backend::Cuda, Extent, const SplineJacobianBody&);

}  // namespace freeflow
