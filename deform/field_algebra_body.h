// Private: the mathematics of field_algebra.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>

namespace freeflow {

/// Over all planes at once: z counts through them. y may be null.
struct LinearCombinationBody {
  const float *x, *y;
  float a, b;
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int i, int j, int k) const {
    const std::size_t at = out.offset(i, j, k);
    out.data[at] = y ? fma_(a, x[at], b * y[at]) : a * x[at];
  }
};

/// Terms: lengths in mm, voxels that count.
struct MeanLengthBody : SumBody {
  FieldView<const float> u;
  const float* mask;
  Vec3f sides;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    if (mask && !(mask[i] > 0.5f)) return 0.0;
    if (term == 1) return 1.0;
    const std::size_t n = u.extent.count();
    const double x = double(sides.x) * u.data[i], y = double(sides.y) * u.data[i + n],
                 z = double(sides.z) * u.data[i + 2 * n];
    return sqrt(fma_(x, x, fma_(y, y, z * z)));
  }
};

}  // namespace freeflow
