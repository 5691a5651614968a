// Same maths as the CPU. A line of the transform is walked by one thread; its scratch lies as the
// volume does, so that neighbouring threads read neighbouring words along y and z.
#include <freeflow/denoise/signed_distance_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const SeedBody&);
template void for_each_voxel(backend::Cuda, Extent, const InsideBody&);
template void for_each_voxel(backend::Cuda, Extent, const NearestInRowBody&);
template void for_each_voxel(backend::Cuda, Extent, const EnvelopeBody&);
template void for_each_voxel(backend::Cuda, Extent, const DistanceBody&);
template void reduce(backend::Cuda, std::size_t, int, const SeedCountBody&, double*, double*);

}  // namespace freeflow
