// Same maths as the CPU.
#include <freeflow/similarity/measure_sum_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const AddForceBody&);
template void for_each_voxel(backend::Cuda, Extent, const AddCostBody&);

}  // namespace freeflow
