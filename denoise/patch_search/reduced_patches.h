// Private to the CPU's search: every patch by a few numbers whose distance never exceeds that of
// the patches, and boxes of patches that lie close together.
//
// P are the leading principal components of a sample of the patches (orthonormal rows), a and b
// patches less the sample's mean, r_a = |a - P'P a| what P leaves of one. By Bessel's inequality
// and the triangle's
//   |P a - P b|^2 + (r_a - r_b)^2 <= |a - b|^2.
// Any orthonormal rows bound, so nothing that is found depends on how well they fit; reach() makes
// up for rounding. Boxes: halves by the median of the widest number (Friedman, Bentley and Finkel
// 1977) until leaves of 64 patches are left.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freeflow/denoise/patch_search/patch_search.h>

namespace freeflow {

struct ReducedPatches {
  static constexpr int components = 16, width = components + 1, leaf = 64;

  int count = 0, leaves = 0;
  const std::int32_t* order = nullptr;  ///< the patch in a slot; ascending in a leaf
  const float* values = nullptr;        ///< the values of a slot's patch: stride per slot
  const float* numbers = nullptr;       ///< of a leaf, one component after the other: width x 64
  const float *low = nullptr, *high = nullptr;  ///< of a leaf's numbers: width x leaves
  double slack = 0;                             ///< see reach()
  double relative = 0;

  static std::size_t scratch_bytes(const PatchView&);
  /// Into scratch_bytes() of memory at a multiple of 64 bytes. Where a patch lies 1e15 or more
  /// from the mean or has no numbers nothing is bounded: all numbers are zero, reach() infinite.
  static ReducedPatches make(const PatchView&, std::byte* scratch, int threads);

  /// All leaves but the last are full.
  int size_of(int index) const { return index + 1 < leaves ? leaf : count - index * leaf; }
  /// What the squared distance of the numbers, summed in float, does not exceed where
  /// patch_distance() is at most `distance`: (sqrt(distance) + slack)^2 (1 + relative).
  float reach(float distance) const;
};

}  // namespace freeflow
