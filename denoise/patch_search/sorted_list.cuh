// Private: an ascending list of candidates spread over the lanes of a warp. Element 32 s + lane is
// the lane's key[s].
#pragma once

#include <freeflow/denoise/patch_search/distance_body.h>

namespace freeflow {

inline constexpr unsigned whole_warp = 0xFFFFFFFFu;

/// Inserts one candidate, the same in every lane; the last falls off.
template <int slots>
__device__ __forceinline__ void insert(CandidateKey (&key)[slots], CandidateKey candidate) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int s = slots - 1; s >= 0; --s) {
    CandidateKey before = __shfl_up_sync(whole_warp, key[s], 1);
    const CandidateKey carried = s > 0 ? __shfl_sync(whole_warp, key[s > 0 ? s - 1 : 0], 31) : 0;
    if (lane == 0) before = carried;
    const bool first = s == 0 && lane == 0;
    if (key[s] > candidate) key[s] = first || before < candidate ? candidate : before;
  }
}

/// Lane by lane from `v`, bitonic over the warp, to ascending.
__device__ __forceinline__ CandidateKey ascending(CandidateKey v) {
#pragma unroll
  for (int j = 16; j > 0; j /= 2) {
    const CandidateKey other = __shfl_xor_sync(whole_warp, v, j);
    v = ((threadIdx.x & j) == 0) == (other < v) ? other : v;
  }
  return v;
}

/// Inserts a candidate of every lane; the 32 largest of all fall off.
template <int slots>
__device__ __forceinline__ void insert_all(CandidateKey (&key)[slots], CandidateKey candidate) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 2; k <= 32; k *= 2)
#pragma unroll
    for (int j = k / 2; j > 0; j /= 2) {
      const CandidateKey other = __shfl_xor_sync(whole_warp, candidate, j);
      const bool takes_less = ((lane & j) == 0) == ((lane & k) == 0);
      candidate = takes_less == (other < candidate) ? other : candidate;
    }
#pragma unroll
  for (int s = slots - 1; s >= 0;
       --s) {  // the slot and the carried, backwards, are bitonic: their halves are too
    const CandidateKey carried = __shfl_sync(whole_warp, candidate, 31 - lane);
    const bool less = carried < key[s];
    candidate = ascending(less ? carried : key[s]);
    if (s + 1 < slots) key[s + 1] = ascending(less ? key[s] : carried);
  }
  key[0] = candidate;
}

}  // namespace freeflow
