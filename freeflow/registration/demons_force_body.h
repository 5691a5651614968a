// Private: the mathematics of demons_force.h.
#pragma once

#include <freeflow/deform/field_operations_body.h>

namespace freeflow {

struct DemonsForceBody {
  VolumeView<const float> fixed, warped;
  FieldView<float> update;
  float per_side[3];  // smallest side / side
  float per_bound;    // 1 / (2 step)
  bool of_thirion;    // the fixed image's gradient alone

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = fixed.extent.count(), i = fixed.offset(x, y, z);
    const float d = fixed.data[i] - warped.data[i];
    float j[3];
    for (int c = 0; c < 3; ++c) {
      const float of_fixed = derivative(fixed, x, y, z, c), of_warped = derivative(warped, x, y, z, c);
      j[c] = of_thirion ? per_side[c] * of_fixed : 0.5f * per_side[c] * (of_fixed + of_warped);
    }
    const float squared = fma_(j[0], j[0], fma_(j[1], j[1], j[2] * j[2])), bound = d * per_bound;
    const float factor = d / fma_(bound, bound, squared);
    const bool counts = (squared > 0.0f) & (factor == factor);  // NaN anywhere about the voxel ends here
    for (int c = 0; c < 3; ++c) update.data[i + c * n] = counts ? factor * j[c] / per_side[c] : 0.0f;
  }
};

}  // namespace freeflow
