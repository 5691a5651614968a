// Same maths as the CPU.
#include <freeflow/regularize/gaussian_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const WindowAxisBody&);

}  // namespace freeflow
