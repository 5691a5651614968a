// Same maths as the CPU; the window sums walk the grid as window_sum.cuh says.
#include <freeflow/similarity/mind_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>
#include <freeflow/similarity/window_sum.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const MindSquaresBody&);
template void sum_along_z(backend::Cuda, Extent, int, const MindSquaresAlongZ&);
template void sum_along_yx(backend::Cuda, Extent, int, const MindMeansAlongYx&);
template void for_each_voxel(backend::Cuda, Extent, const MindVarianceBody&);
template void reduce(backend::Cuda, std::size_t, int, const MindMeanBody&, double*, double*);
template void for_each_voxel(backend::Cuda, Extent, const MindDescriptorBody&);
template void for_each_voxel(backend::Cuda, Extent, const MindOrderBody&);
template void for_each_voxel(backend::Cuda, Extent, const MindResidualBody&);
template void for_each_voxel(backend::Cuda, Extent, const MindCostBody&);
template void for_each_voxel(backend::Cuda, Extent, const MindForceBody&);

}  // namespace freeflow
