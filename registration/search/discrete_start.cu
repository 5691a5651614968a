#include <freeflow/registration/search/discrete_start_body.h>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const StartFitBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const LengthPowersBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const LargestSquaredLengthBody&, double*,
                     double*);

}  // namespace freeflow
