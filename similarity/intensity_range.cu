// Same maths as the CPU: the reductions of the range.
#include <freeflow/similarity/intensity_range_body.h>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const FiniteCountBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const FiniteRangeBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const RankBody&, double*, double*);

}  // namespace freeflow
