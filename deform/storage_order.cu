// Same moves as the CPU.
#include <freeflow/deform/storage_order_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const OrderVoxelsBody&);
template void for_each_voxel(backend::Cuda, Extent, const StoreFieldBody&);

}  // namespace freeflow
