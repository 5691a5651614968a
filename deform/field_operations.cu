// Same maths as the CPU: one thread per voxel, sums by the fixed tree.
#include <freeflow/deform/field_operations_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const ComposeBody&);
template void for_each_voxel(backend::Cuda, Extent, const ScaleFieldBody&);
template void for_each_voxel(backend::Cuda, Extent, const InvertBody&);
template void for_each_voxel(backend::Cuda, Extent, const InverseResidualFieldBody&);
template void for_each_voxel(backend::Cuda, Extent, const InverseResidualLengthBody&);
template void for_each_voxel(backend::Cuda, Extent, const InverseCorrectionBody&);
template void for_each_voxel(backend::Cuda, Extent, const JacobianBody&);
template void for_each_voxel(backend::Cuda, Extent, const CornerJacobianBody&);
template void for_each_voxel(backend::Cuda, Extent, const ResampleFieldBody&);
template void reduce(backend::Cuda, std::size_t, int, const InverseResidualSumBody&, double*,
                     double*);
template void reduce(backend::Cuda, std::size_t, int, const InverseResidualMaxBody&, double*,
                     double*);
template void reduce(backend::Cuda, std::size_t, int, const FoldedSumBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const JacobianSumBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const JacobianRangeBody&, double*, double*);

}  // namespace freeflow
