// Same maths as the CPU: one thread per node or coefficient.
#include <freeflow/regularize/penalty_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const BendingTermsBody&);
template void for_each_voxel(backend::Cuda, Extent, const BendingForceBody&);
template void for_each_voxel(backend::Cuda, Extent, const LogJacobianTermsBody&);
template void for_each_voxel(backend::Cuda, Extent, const LogJacobianForceBody&);
template void for_each_voxel(backend::Cuda, Extent, const TotalVariationTermsBody&);
template void for_each_voxel(backend::Cuda, Extent, const TotalVariationForceBody&);
template void reduce(backend::Cuda, std::size_t, int, const BendingValueBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const NodeMeanBody&, double*, double*);

}  // namespace freeflow
