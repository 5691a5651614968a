// Private: the mathematics of demons_force.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include <freeflow/deform/field_operations_body.h>

namespace freeflow {

/// The power of two of a number's exponent, 0 for 0.
FREEFLOW_HD float power_of_two(float v) {
  std::int32_t bits;
  memcpy(&bits, &v, sizeof bits);
  bits &= 0x7F800000;
  memcpy(&v, &bits, sizeof v);
  return v;
}

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
      const float of_fixed = derivative(fixed, x, y, z, c),
                  of_warped = derivative(warped, x, y, z, c);
      j[c] = of_thirion ? per_side[c] * of_fixed : 0.5f * per_side[c] * (of_fixed + of_warped);
    }
    // The update does not depend on the intensities' unit: in that of the largest term no square
    // leaves float's range.
    const float largest =
        fmaxf(fabsf(d * per_bound), fmaxf(fabsf(j[0]), fmaxf(fabsf(j[1]), fabsf(j[2]))));
    const float unit = 1.0f / power_of_two(largest);
    for (int c = 0; c < 3; ++c) j[c] *= unit;
    const float squared = fma_(j[0], j[0], fma_(j[1], j[1], j[2] * j[2])),
                bound = d * unit * per_bound;
    const float factor = d * unit / fma_(bound, bound, squared);
    // NaN anywhere about the voxel ends here
    const bool counts = (squared > 0.0f) & (factor == factor);
    for (int c = 0; c < 3; ++c)
      update.data[i + c * n] = counts ? factor * j[c] / per_side[c] : 0.0f;
  }
};

}  // namespace freeflow
