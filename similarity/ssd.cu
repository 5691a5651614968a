// Same maths as the CPU.
#include <freeflow/similarity/ssd_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const SsdSumBody&, double*, double*);
template void for_each_voxel(backend::Cuda, Extent, const SsdCostBody&);
template void for_each_voxel(backend::Cuda, Extent, const SsdForceBody&);

}  // namespace freeflow
