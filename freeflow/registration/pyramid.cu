// Same maths as the CPU.
#include <freeflow/registration/pyramid_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const MaskBody&);

}  // namespace freeflow
