// Same maths as the CPU.
#include <freeflow/registration/flow/demons_force_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const DemonsForceBody&);
template void for_each_voxel(backend::Cuda, Extent, const DemonsChannelBody&);
template void for_each_voxel(backend::Cuda, Extent, const DemonsStepBody&);

}  // namespace freeflow
