// Private: into the padded volumes of a Fourier transform and out again. Planes follow each other
// on both sides; z counts through all.
#pragma once

#include <freeflow/regularize/fft_padding.h>

namespace freeflow {

/// Over size.x, size.y, planes * size.z: the voxel, beyond the border the last value, or 0.
struct PadBody {
  Padding padding;
  const float* in;
  float* out;
  bool with_zeros;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = padding.n;
    const int plane = z / padding.size.z;
    int p[3] = {x - padding.margin[0], y - padding.margin[1],
                z % padding.size.z - padding.margin[2]};
    bool inside = true;
    for (int a = 0; a < 3; ++a) {
      const int at = p[a] < 0 ? 0 : p[a] < n[a] ? p[a] : n[a] - 1;
      inside = inside & (at == p[a]);
      p[a] = at;
    }
    const float value = in[((std::size_t(plane) * n.z + p[2]) * n.y + p[1]) * n.x + p[0]];
    out[padding.padded(x, y, z)] = inside | !with_zeros ? value : 0.0f;
  }
};

/// Over n.x, n.y, planes * n.z; `rest` (a position in the first plane, or SIZE_MAX for none) is
/// where the values are brought to 0.
struct CropBody {
  Padding padding;
  const float* in;
  float* out;
  std::size_t rest;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = padding.n;
    const int plane = z / n.z;
    const std::size_t volume = std::size_t(padding.row) * padding.size.y * padding.size.z;
    const float* values = in + plane * volume;
    const float zero = rest < volume ? values[rest] : 0.0f;
    out[(std::size_t(z) * n.y + y) * n.x + x] =
        values[padding.padded(x + padding.margin[0], y + padding.margin[1],
                              z % n.z + padding.margin[2])] -
        zero;
  }
};

}  // namespace freeflow
