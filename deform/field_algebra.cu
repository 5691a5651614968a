// Same maths as the CPU.
#include <freeflow/deform/field_algebra_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const LinearCombinationBody&);
template void reduce(backend::Cuda, std::size_t, int, const MeanLengthBody&, double*, double*);

}  // namespace freeflow
