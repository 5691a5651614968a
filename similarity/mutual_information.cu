// Same maths as the CPU; the counting itself is a scheme of joint_histogram/.
#include <freeflow/similarity/mutual_information_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const FixedBinBody&);
template void for_each_voxel(backend::Cuda, Extent, const MovingBinBody&);
template void for_each_voxel(backend::Cuda, Extent, const AddCountsBody&);
template void for_each_voxel(backend::Cuda, Extent, const MarginalBody&);
template void for_each_voxel(backend::Cuda, Extent, const BothWindowsBody&);
template void for_each_voxel(backend::Cuda, Extent, const SlopeBody&);
template void for_each_voxel(backend::Cuda, Extent, const SlopePolynomialBody&);
template void for_each_voxel(backend::Cuda, Extent, const InformationCostBody&);
template void for_each_voxel(backend::Cuda, Extent, const ParzenForceBody<InformationPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const ParzenForceBody<CubicInformationPoint>&);
template void for_each_voxel(backend::Cuda, Extent, const PartialVolumeForceBody&);
template void for_each_voxel(backend::Cuda, Extent,
                             const IntensityDerivativeBody<InformationPoint>&);
template void for_each_voxel(backend::Cuda, Extent,
                             const IntensityDerivativeBody<CubicInformationPoint>&);
template void reduce(backend::Cuda, std::size_t, int, const EntropySumBody&, double*, double*);

}  // namespace freeflow
