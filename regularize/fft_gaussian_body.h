// Private: the mathematics of fft_gaussian.h in Fourier space.
#pragma once

#include <freeflow/core/views.h>

namespace freeflow {

/// Multiplies one complex value: x counts frequencies, z goes through all planes.
struct GaussianSpectrumBody {
  const float *wx, *wy, *wz;  // the window's spectrum per axis; wx holds the transforms' scale
  Extent size;
  float* values;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float weight = wx[x] * (wy[y] * wz[z % size.z]);
    float* value = values + 2 * ((std::size_t(z) * size.y + y) * (size.x / 2 + 1) + x);
    value[0] *= weight;
    value[1] *= weight;
  }
};

}  // namespace freeflow
