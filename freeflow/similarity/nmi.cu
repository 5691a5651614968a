// Same maths as the CPU; the counting itself is a scheme of joint_histogram/.
#include <freeflow/similarity/nmi_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const FixedBinBody&);
template void for_each_voxel(backend::Cuda, Extent, const MovingBinBody&);
template void for_each_voxel(backend::Cuda, Extent, const MarginalBody&);
template void for_each_voxel(backend::Cuda, Extent, const NmiDerivativeBody&);
template void for_each_voxel(backend::Cuda, Extent, const NmiForceBody&);
template void reduce(backend::Cuda, std::size_t, int, const EntropySumBody&, double*, double*);

}  // namespace freeflow
