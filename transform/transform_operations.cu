// Same maths as the CPU.
#include <freeflow/transform/transform_operations_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const ComposeChainBody&);
template void for_each_voxel(backend::Cuda, Extent, const LogarithmBody&);

}  // namespace freeflow
