// Same maths as the CPU, one thread per voxel, or per line of the recursion (neighbouring lines along y and z lie side by side in
// memory; those along x do not, which the caches have to make good).
#include <freeflow/regularize/smoother_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const SeparableAxisBody&);
template void for_each_voxel(backend::Cuda, Extent, const RecursiveLineBody&);

}  // namespace freeflow
