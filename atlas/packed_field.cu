// Same maths as the CPU.
#include <freeflow/atlas/packed_field_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const PackBody&);
template void for_each_voxel(backend::Cuda, Extent, const UnpackBody&);

}  // namespace freeflow
