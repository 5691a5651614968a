// Private: four floats that are computed with at once, the same operations on each: on an x86 CPU
// in a register, elsewhere one after the other. (A compiler does not find them by itself among
// bytes that are unpacked.)
#pragma once

#include <cstdint>

#include <freeflow/core/portable_math.h>

#if defined(__FMA__) && !defined(__CUDA_ARCH__)
#include <immintrin.h>
#define FREEFLOW_FOUR_AT_ONCE 1
#else
#define FREEFLOW_FOUR_AT_ONCE 0
#endif

namespace freeflow {

struct alignas(16) FourFloats {
  float v[4] = {};
};

#if FREEFLOW_FOUR_AT_ONCE
inline __m128 in_register(const FourFloats& a) { return _mm_load_ps(a.v); }
inline FourFloats from_register(__m128 a) {
  FourFloats out;
  _mm_store_ps(out.v, a);
  return out;
}
#endif

/// Of the four bytes of a word, the lowest first.
FREEFLOW_HD FourFloats four_bytes(std::uint32_t word) {
#if FREEFLOW_FOUR_AT_ONCE
  return from_register(_mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(int(word)))));
#else
  FourFloats out;
  for (int k = 0; k < 4; ++k) out.v[k] = float(word >> 8 * k & 255u);
  return out;
#endif
}

FREEFLOW_HD FourFloats fma_(const FourFloats& a, const FourFloats& b, const FourFloats& c) {
#if FREEFLOW_FOUR_AT_ONCE
  return from_register(_mm_fmadd_ps(in_register(a), in_register(b), in_register(c)));
#else
  FourFloats out;
  for (int k = 0; k < 4; ++k) out.v[k] = fma_(a.v[k], b.v[k], c.v[k]);
  return out;
#endif
}

FREEFLOW_HD FourFloats fma_(float a, const FourFloats& b, const FourFloats& c) {
  return fma_(FourFloats{{a, a, a, a}}, b, c);
}

/// 0 where the bit, counted from the lowest, is not set.
FREEFLOW_HD FourFloats where(std::uint32_t bits, const FourFloats& a) {
#if FREEFLOW_FOUR_AT_ONCE
  const __m128i place = _mm_setr_epi32(1, 2, 4, 8);
  const __m128i set = _mm_cmpeq_epi32(_mm_and_si128(_mm_set1_epi32(int(bits)), place), place);
  return from_register(_mm_and_ps(_mm_castsi128_ps(set), in_register(a)));
#else
  FourFloats out;
  for (int k = 0; k < 4; ++k) out.v[k] = bits >> k & 1u ? a.v[k] : 0.0f;
  return out;
#endif
}

FREEFLOW_HD float sum_of(const FourFloats& a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }

}  // namespace freeflow
