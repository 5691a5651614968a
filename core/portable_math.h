// Arithmetic that gives the same bits under g++ and nvcc. The library is compiled without
// contraction (-ffp-contract=off, -fmad=false): a fused multiply-add happens where fma() is
// written, and nowhere else. libm and CUDA round their logarithms differently, so the one
// transcendental function of the inner loops is here.
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

/// False for NaN and the infinities. (The library is compiled without -ffast-math, so the
/// comparison stands.)
FREEFLOW_HD bool is_finite(float v) { return v - v == 0.0f; }

/// Natural logarithm of a positive, normal double, to about 1 ulp, with the same bits on every
/// backend:
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

/// Natural logarithm of a positive, normal float, to about 1 ulp, with the same bits on every
/// backend (the polynomial of Moshier's Cephes, logf): no division, no branch. Of any other float
/// some number.
FREEFLOW_HD float log_positive(float x) {
  std::uint32_t
      bits;  // unsigned: a caller may ask first and find out later that x was not positive
  memcpy(&bits, &x, sizeof bits);
  // so that m lies in [sqrt(1/2), sqrt(2))
  const std::int32_t exponent = std::int32_t(bits - 0x3F3504F3u) >> 23;
  bits -= std::uint32_t(exponent) << 23;
  float m;
  memcpy(&m, &bits, sizeof m);
  const float f = m - 1.0f, f2 = f * f, e = float(exponent);
  float p = 7.0376836292e-2f;
  p = fma_(p, f, -1.1514610310e-1f);
  p = fma_(p, f, 1.1676998740e-1f);
  p = fma_(p, f, -1.2420140846e-1f);
  p = fma_(p, f, 1.4249322787e-1f);
  p = fma_(p, f, -1.6668057665e-1f);
  p = fma_(p, f, 2.0000714765e-1f);
  p = fma_(p, f, -2.4999993993e-1f);
  p = fma_(p, f, 3.3333331174e-1f);
  const float tail = fma_(-0.5f, f2, fma_(e, -2.12194440e-4f, p * f * f2));  // ln 2 in two parts
  return fma_(e, 0.693359375f, f + tail);
}

/// Whether x lies in [2^-60, 2^60).
FREEFLOW_HD bool is_moderate(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits - (67u << 23) < (120u << 23);
}

/// a / b, correctly rounded, where is_moderate(b) and a is 0 or between 2^-60 and 2^60 in size: on
/// CUDA nvcc's own steps without the path for what over- or underflows. Anything finite or not
/// elsewhere.
FREEFLOW_HD float divided(float a, float b) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  r = fma_(r, fma_(-b, r, 1.0f), r);
  const float q = a * r;
  return fma_(r, fma_(-b, q, a), q);
#else
  return a / b;
#endif
}

}  // namespace freeflow
