// Same maths as the CPU.
#include <freeflow/similarity/overlap_body.h>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const OverlapBody&, double*, double*);

}  // namespace freeflow
