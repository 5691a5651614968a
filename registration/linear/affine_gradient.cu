// Same sums as the CPU.
#include <freeflow/registration/linear/affine_gradient_body.h>
#include <freeflow/core/reduce.cuh>
#include <freeflow/core/reduce_rows.cuh>

namespace freeflow {

template void reduce_rows(backend::Cuda, Extent, const ForceRowBody&, double*);
template void reduce(backend::Cuda, std::size_t, int, const ForceMomentBody&, double*, double*);

}  // namespace freeflow
