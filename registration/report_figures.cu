// Same maths as the CPU.
#include <freeflow/registration/report_figures_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const SomeLengthsBody&);
template void reduce(backend::Cuda, std::size_t, int, const LengthSumBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const LargestLengthBody&, double*, double*);

}  // namespace freeflow
