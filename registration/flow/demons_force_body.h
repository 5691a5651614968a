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

/// The gradient that drives, per smallest side.
struct DemonsGradient {
  VolumeView<const float> fixed, warped;
  float per_side[3];  // smallest side / side
  bool of_thirion;    // the fixed image's gradient alone

  FREEFLOW_HD void at(int x, int y, int z, float* j) const {
    for (int c = 0; c < 3; ++c) {
      const float of_fixed = derivative(fixed, x, y, z, c),
                  of_warped = derivative(warped, x, y, z, c);
      j[c] = of_thirion ? per_side[c] * of_fixed : 0.5f * per_side[c] * (of_fixed + of_warped);
    }
  }
};

struct DemonsForceBody {
  DemonsGradient gradient;
  FieldView<float> update;
  float per_bound;  // 1 / (2 step)

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const VolumeView<const float>&fixed = gradient.fixed, &warped = gradient.warped;
    const std::size_t n = fixed.extent.count(), i = fixed.offset(x, y, z);
    const float d = fixed.data[i] - warped.data[i];
    float j[3];
    gradient.at(x, y, z, j);
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
      update.data[i + c * n] = counts ? factor * j[c] / gradient.per_side[c] : 0.0f;
  }
};

/// One channel's part of the common Gauss-Newton step: weight d J into the update, and
/// weight (|J|^2 + d^2 / (2 step)^2) into its divisor, intensities in units of their range. A
/// channel that says nothing here leaves the step to the others.
struct DemonsChannelBody {
  DemonsGradient gradient;
  FieldView<float> update;
  float* divisor;
  float per_bound, scale, weight;
  bool first;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = gradient.fixed.extent.count(), i = gradient.fixed.offset(x, y, z);
    const float d = scale * (gradient.fixed.data[i] - gradient.warped.data[i]);
    float j[3];
    gradient.at(x, y, z, j);
    for (int c = 0; c < 3; ++c) j[c] *= scale;
    const float squared = fma_(j[0], j[0], fma_(j[1], j[1], j[2] * j[2])), bound = d * per_bound;
    const float whole = fma_(bound, bound, squared);
    const bool counts = (squared > 0.0f) & (whole == whole);
    for (int c = 0; c < 3; ++c) {
      float& out = update.data[i + c * n];
      out = (first ? 0.0f : out) + (counts ? weight * (d * j[c]) : 0.0f);
    }
    divisor[i] = (first ? 0.0f : divisor[i]) + (counts ? weight * whole : 0.0f);
  }
};

/// Divides the channels' sum.
struct DemonsStepBody {
  FieldView<float> update;
  const float* divisor;
  float per_side[3];
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = update.extent.count(), i = update.extent.offset(x, y, z);
    for (int c = 0; c < 3; ++c) {
      float& out = update.data[i + c * n];
      out = divisor[i] > 0.0f ? out / divisor[i] / per_side[c] : 0.0f;
    }
  }
};

}  // namespace freeflow
