// Private: four floats that are computed with at once, the same operations on each, and what bodies
// ask of them, for one float.
#pragma once

#include <cstdint>

#include <freeflow/core/portable_math.h>

namespace freeflow {

struct alignas(16) FourFloats {
  float v[4] = {};
};

/// The byte that many bits up.
FREEFLOW_HD float byte_at(std::uint32_t word, int bits) {
  return float(std::int32_t(word >> bits & 255u));  // with a sign, which a CPU converts at once
}

/// Of the four bytes of a word, the lowest first.
FREEFLOW_HD FourFloats four_bytes(std::uint32_t word) {
  FourFloats out;
  for (int k = 0; k < 4; ++k) out.v[k] = byte_at(word, 8 * k);
  return out;
}

FREEFLOW_HD FourFloats fma_(const FourFloats& a, const FourFloats& b, const FourFloats& c) {
  FourFloats out;
  for (int k = 0; k < 4; ++k) out.v[k] = fma_(a.v[k], b.v[k], c.v[k]);
  return out;
}

FREEFLOW_HD FourFloats fma_(float a, const FourFloats& b, const FourFloats& c) {
  return fma_(FourFloats{{a, a, a, a}}, b, c);
}

/// 0 where the bit, counted from the lowest, is not set.
FREEFLOW_HD FourFloats where(std::uint32_t bits, const FourFloats& a) {
  FourFloats out;
  for (int k = 0; k < 4; ++k) out.v[k] = bits >> k & 1u ? a.v[k] : 0.0f;
  return out;
}

/// The same of the lowest bit.
FREEFLOW_HD float where(std::uint32_t bits, float a) { return bits & 1u ? a : 0.0f; }

FREEFLOW_HD float sum_of(const FourFloats& a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }

}  // namespace freeflow
