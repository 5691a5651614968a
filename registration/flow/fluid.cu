// Same maths as the CPU.
#include <freeflow/registration/flow/fluid_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const FluidRateBody&);
template void for_each_voxel(backend::Cuda, Extent, const FluidTimeStepBody&);
template void for_each_voxel(backend::Cuda, Extent, const FluidStepBody&);
template void reduce(backend::Cuda, std::size_t, int, const FluidSpeedBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const FluidShrinkingBody&, double*, double*);

}  // namespace freeflow
