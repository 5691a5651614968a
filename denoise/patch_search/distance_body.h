// The distance that decides, and the order of candidates. One order of summation for every
// strategy: value k is added to partial sum k % 8 by a fused multiply-add, and the eight are folded
// by halves. Zeros beyond the end of a patch change nothing.
#pragma once

#include <cstdint>
#include <cstring>

#include <freeflow/core/portable_math.h>

namespace freeflow {

struct PartialDistance {
  static constexpr int lanes = 8;
  float sum[lanes] = {};

  static FREEFLOW_HD void add(float& sum, float a, float b) {
    const float d = a - b;
    sum = fma_(d, d, sum);
  }
  FREEFLOW_HD void add(int lane, float a, float b) { add(sum[lane], a, b); }
  FREEFLOW_HD float total() const {
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  }
};

/// `stride` is a multiple of 8.
FREEFLOW_HD float patch_distance(const float* a, const float* b, int stride) {
  PartialDistance d;
  for (int k = 0; k < stride; k += PartialDistance::lanes)
    for (int l = 0; l < PartialDistance::lanes; ++l) d.add(l, a[k + l], b[k + l]);
  return d.total();
}

/// Distance first, index second: the bits of a non-negative float are ordered as the float is.
using CandidateKey = std::uint64_t;
inline constexpr CandidateKey no_candidate = ~CandidateKey(0);

FREEFLOW_HD CandidateKey candidate_key(float distance, std::int32_t index) {
  std::uint32_t bits;
  memcpy(&bits, &distance, sizeof bits);
  return CandidateKey(bits) << 32 | std::uint32_t(index);
}
FREEFLOW_HD float key_distance(CandidateKey key) {
  const std::uint32_t bits = key == no_candidate ? 0x7F800000u : std::uint32_t(key >> 32);
  float distance;
  memcpy(&distance, &bits, sizeof distance);
  return distance;
}
FREEFLOW_HD std::int32_t key_index(CandidateKey key) {
  return std::int32_t(std::uint32_t(key));
}  // -1 for no_candidate

}  // namespace freeflow
