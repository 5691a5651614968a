// Same maths as the CPU; the search is in patch_search/.
#include <freeflow/denoise/nonlocal_means_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const ScaleBody&);
template void for_each_voxel(backend::Cuda, Extent, const CountBandBody&);
template void for_each_voxel(backend::Cuda, Extent, const ListBandBody&);
template void for_each_voxel(backend::Cuda, Extent, const NoiseBody&);
template void for_each_voxel(backend::Cuda, Extent, const PatchBody&);
template void for_each_voxel(backend::Cuda, Extent, const ElementMapBody&);
template void for_each_voxel(backend::Cuda, Extent, const WindowSearchBody&);
template void for_each_voxel(backend::Cuda, Extent, const WeightBody&);
template void for_each_voxel(backend::Cuda, Extent, const HeatStepBody&);
template void for_each_voxel(backend::Cuda, Extent, const ScatterBody&);
template void for_each_voxel(backend::Cuda, Extent, const StrayBody&);
template void for_each_voxel(backend::Cuda, Extent, const HoldBody&);
template void reduce(backend::Cuda, std::size_t, int, const WeightSumBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const ChangeSumBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const ShiftBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const ChangeMaxBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const NanCountBody&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const MarkCountBody&, double*, double*);

}  // namespace freeflow
