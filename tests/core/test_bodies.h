// Bodies that the tests run through the loops of core/.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/views.h>

namespace freeflow::test {

struct CountVisits {
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const { out(x, y, z) += 1; }
};

struct Logarithm {
  const float* values;
  VolumeView<double> out;
  FREEFLOW_HD void operator()(int x, int, int) const {
    out(x, 0, 0) = log_positive(double(values[x]));
  }
};

/// (b - 1) / b and another quotient by b over the floats b from 2^-60 on, `step` of them apart.
struct Quotients {
  std::uint32_t step;
  VolumeView<float> out;
  std::uint32_t first = 0;  // after 2^-60
  FREEFLOW_HD float denominator(int i) const {
    const std::uint32_t bits = (67u << 23) + first + std::uint32_t(i) * step;
    float b;
    memcpy(&b, &bits, sizeof b);
    return b;
  }
  FREEFLOW_HD void operator()(int x, int, int) const {
    const float b = denominator(x);
    out(x, 0, 0) = is_moderate(b) ? divided(b - 1.0f, b) : -1e30f;
    out(x, 1, 0) = is_moderate(b) ? divided(1.2345678f + float(x % 1024), b) : -1e30f;
  }
};

struct SumAndSquares : SumBody {
  const float* v;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    return term ? double(v[i]) * v[i] : v[i];
  }
};

/// Sums of v, v^2, v^3, v^4 in one pass.
struct SumsOfPowers : SumBody {
  static constexpr int together = 4;
  const float* v;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    double power = v[i];
    for (int k = 0; k < term; ++k) power *= v[i];
    return power;
  }
};

}  // namespace freeflow::test
