// Private: the exponential, as portable_math.h has the logarithm: the same bits under g++ and nvcc.
#pragma once

#include <freeflow/core/portable_math.h>

namespace freeflow {

/// exp(x) for x <= 0, to about 2 ulp; 0 below -87.
FREEFLOW_HD float exp_nonpositive(float x) {
  if (!(x > -87.0f)) return 0.0f;
  const float n = floorf(fma_(x, 1.44269504f, 0.5f));
  const float r = fma_(-n, -2.12194440e-4f, fma_(-n, 0.693359375f, x));  // log 2 in two parts
  constexpr float taylor[] = {1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f,
                              1.66666667e-1f, 0.5f,           1.0f,           1.0f};
  float series = taylor[0];
  for (int k = 1; k < 8; ++k) series = fma_(series, r, taylor[k]);
  const std::int32_t bits = (std::int32_t(n) + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return series * power;
}

}  // namespace freeflow
