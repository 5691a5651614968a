// Same maths as the CPU.
#include <freeflow/regularize/fft_padding_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const PadBody&);
template void for_each_voxel(backend::Cuda, Extent, const CropBody&);

}  // namespace freeflow
