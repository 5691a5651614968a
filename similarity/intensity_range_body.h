// Private: the reductions of intensity_range.h.
#pragma once

#include <cstdint>
#include <cstring>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>

namespace freeflow {

/// An intensity in parts of its range, about [-0.5, 0.5] and cut at -2 and 2; NaN where it is not
/// finite.
FREEFLOW_HD float in_parts_of_range(float v, float low, float per_unit) {
  const float s = (v - low) * per_unit - 0.5f;
  return is_finite(v) ? (s > -2.0f ? (s < 2.0f ? s : 2.0f) : -2.0f) : NAN;
}

struct FiniteCountBody : SumBody {
  const float* data;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return is_finite(data[i]) ? 1.0 : 0.0; }
};

/// The order of floats as that of their bits, moved to positive numbers: exact, as a maximum over a
/// tree needs.
FREEFLOW_HD double float_order(float v) {
  std::int32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits >= 0 ? double(bits) : -double(bits & 0x7FFFFFFF);
}

/// Terms: offset + order of the largest, offset - order of the smallest; 0 when nothing is finite.
struct FiniteRangeBody : MaxBody {
  static constexpr double offset = 4294967296.0;
  const float* data;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    if (!is_finite(data[i])) return 0.0;
    return term == 0 ? offset + float_order(data[i]) : offset - float_order(data[i]);
  }
  static float value(double order) {
    const std::int32_t bits =
        order >= 0 ? std::int32_t(order) : std::int32_t(std::uint32_t(-order) | 0x80000000u);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
  }
};

/// Count of finite values at or below each of 16 thresholds between low and high.
struct RankBody : SumBody {
  static constexpr int thresholds = 16, together = thresholds;
  const float* data;
  float low, high;
  static FREEFLOW_HD float threshold(float low, float high, int term) {
    return term + 1 == thresholds ? high : low + (high - low) * (float(term + 1) / thresholds);
  }
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    return data[i] <= threshold(low, high, term) ? 1.0 : 0.0;
  }
};

}  // namespace freeflow
