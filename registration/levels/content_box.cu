// Same maths as the CPU.
#include <freeflow/registration/levels/content_box_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const RowContentBody&);
template void for_each_voxel(backend::Cuda, Extent, const CropToBoxBody&);

}  // namespace freeflow
