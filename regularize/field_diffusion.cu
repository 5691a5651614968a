// Same maths as the CPU.
#include <freeflow/regularize/field_diffusion_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const ConductanceBody&);
template void for_each_voxel(backend::Cuda, Extent, const DiffusionBody&);

}  // namespace freeflow
