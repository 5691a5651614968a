// Private: one axis of a separable, normalised window sum with decimation.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

struct WindowAxisBody {
  VolumeView<const float> in;
  VolumeView<float> out;
  int axis, factor, taps, first;  // out(i) sums in(factor * i + first ... + taps - 1)
  const float* weights;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const int i = axis == 0 ? x : axis == 1 ? y : z, n = in.extent[axis];
    const std::size_t stride = axis == 0   ? 1
                               : axis == 1 ? in.extent.x
                                           : std::size_t(in.extent.x) * in.extent.y;
    const float* line =
        in.data + in.offset(axis == 0 ? 0 : x, axis == 1 ? 0 : y, axis == 2 ? 0 : z);
    const int start = factor * i + first;
    float sum = 0, weight = 0;
    for (int k = 0; k < taps; ++k) {
      const int j = start + k;
      const bool inside = j >= 0 && j < n;
      const float v = line[(inside ? j : 0) * stride];
      const bool counts = inside && v == v;
      sum = fma_(weights[k], counts ? v : 0.0f, sum);
      weight += counts ? weights[k] : 0.0f;
    }
    // Off the grid is no lack of value: at the border half of the window may be missing.
    out(x, y, z) = weight >= 0.25f ? sum / weight : NAN;
  }
};

}  // namespace freeflow
