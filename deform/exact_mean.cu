// Same maths as the CPU: integers, so that any order gives the same bits.
#include <freeflow/deform/exact_mean_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const ExactAddBody&);
template void for_each_voxel(backend::Cuda, Extent, const AddWordsBody&);
template void for_each_voxel(backend::Cuda, Extent, const ExactMeanBody&);
template void reduce(backend::Cuda, std::size_t, int, const LargestMagnitudeBody&, double*,
                     double*);

}  // namespace freeflow
