// Same sums as the CPU.
#include <freeflow/registration/linear/ssd_curvature_body.h>
#include <freeflow/core/reduce.cuh>
#include <freeflow/core/reduce_rows.cuh>

namespace freeflow {

template void reduce_rows(backend::Cuda, Extent, const GradientRowBody&, double*);
template void reduce(backend::Cuda, std::size_t, int, const GradientMomentBody&, double*, double*);

}  // namespace freeflow
