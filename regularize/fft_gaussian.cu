// Same maths as the CPU about the transforms.
#include <freeflow/regularize/fft_gaussian_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const GaussianSpectrumBody&);

}  // namespace freeflow
