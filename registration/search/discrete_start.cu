#include <freeflow/registration/search/discrete_start_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const StartFitBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const LengthPowersBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const LargestSquaredLengthBody&, double*,
                     double*);
template void for_each_voxel(backend::Cuda, Extent, const ConfirmBody&);
template void for_each_voxel(backend::Cuda, Extent, const ContinueBody&);

}  // namespace freeflow
