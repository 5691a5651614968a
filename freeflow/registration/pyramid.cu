// Same maths as the CPU.
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/registration/pyramid_body.h>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const MaskBody&);

}  // namespace freeflow
