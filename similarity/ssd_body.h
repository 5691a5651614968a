// Private: the mathematics of ssd.h.
#pragma once

#include <freeflow/core/reduce.h>

namespace freeflow {

/// Terms: squared differences, overlapping voxels.
struct SsdSumBody : SumBody {
  const float *fixed, *warped;
  float scale;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const float d = scale * (fixed[i] - warped[i]);
    if (d != d) return 0.0;
    return term == 0 ? double(d * d) : 1.0;
  }
};

struct SsdCostBody {
  const double* sums;
  double* cost;
  FREEFLOW_HD void operator()(int, int, int) const { *cost = sums[0] / sums[1]; }
};

/// Turns the warped gradient, in place, into the force 2 s^2 (fixed - warped) grad warped / N.
struct SsdForceBody {
  VolumeView<const float> fixed, warped;
  float scale;
  const double* sums;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = fixed.extent.count(), i = fixed.offset(x, y, z);
    const float d = fixed.data[i] - warped.data[i];
    const float factor = 2.0f * (scale * d) * float(1.0 / sums[1]);
    for (int c = 0; c < 3; ++c)
      force.data[i + c * n] = d == d ? factor * (scale * force.data[i + c * n])
                                     : 0.0f;  // scale first: intensities of 1e30
  }
};

}  // namespace freeflow
