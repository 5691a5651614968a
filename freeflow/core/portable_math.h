// Arithmetic that gives the same bits under g++ and nvcc. The library is compiled without contraction
// (-ffp-contract=off, -fmad=false): a fused multiply-add happens where fma() is written, and nowhere else. libm and CUDA
// round their logarithms differently, so the one transcendental function of the inner loops is here.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include <freeflow/core/host_device.h>

namespace freeflow {

FREEFLOW_HD float fma_(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return fmaf(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
FREEFLOW_HD double fma_(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return ::fma(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

/// Natural logarithm of a positive, normal double, to about 1 ulp, with the same bits on every backend:
/// x = 2^e * m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)) by its series.
FREEFLOW_HD double log_positive(double x) {
  std::int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = int(bits >> 52) - 1023;
  bits = (bits & 0x000FFFFFFFFFFFFFll) | 0x3FF0000000000000ll;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double series = 1.0 / 23;
  for (int k = 21; k >= 3; k -= 2) series = fma_(series, s2, 1.0 / k);
  const double log_m = fma_(2.0 * s * s2, series, 2.0 * s);
  return fma_(double(exponent), 0.6931471805599453094, log_m);
}

}  // namespace freeflow
