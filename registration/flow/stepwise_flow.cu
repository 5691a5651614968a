// Same maths as the CPU.
#include <freeflow/registration/flow/stepwise_flow_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const FlowScaleBody&);
template void for_each_voxel(backend::Cuda, Extent, const FlowDifferenceBody&);
template void for_each_voxel(backend::Cuda, Extent, const FlowAddBody&);
template void for_each_voxel(backend::Cuda, Extent, const FlowComposeBody&);
template void reduce(backend::Cuda, std::size_t, int, const FlowSpeedBody&, double*, double*);

}  // namespace freeflow
