// Same maths as the CPU.
#include <freeflow/registration/flow/running_mean_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const RunningMeanBody&);

}  // namespace freeflow
