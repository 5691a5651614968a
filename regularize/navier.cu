// Same maths as the CPU about the transform.
#include <freeflow/regularize/navier_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const NavierSpectrumBody&);

}  // namespace freeflow
