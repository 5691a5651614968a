// Private: what the CUDA schemes share: how a candidate's voxels are dealt out to warps, and how a warp adds them.
// Work is dealt in pieces of up to 128 voxels of one row, four per lane: rows keep the samples of a warp together, and the
// row's index is divided once. Where all lanes have the same bin (the background of most images) they sum among themselves
// and one adds for all: without that the hottest bin would serialise the warp.
#pragma once

#include <freeflow/core/cuda_check.h>
#include <freeflow/similarity/ratio_histogram/schemes.h>
#include <freeflow/similarity/ratio_histogram/voxel_body.h>

namespace freeflow {

namespace ratio {

inline constexpr int per_lane = 4;
inline constexpr int piece_voxels = 32 * per_lane;
/// So many pieces keep a 32-bit sum of masses of at most 65536, or of y of at most 65535, from overflowing.
inline constexpr unsigned most_pieces = 65535 / piece_voxels;

/// The voxels of all candidates, in pieces of rows.
template <class Voxel>
struct Job {
  Voxel voxel;
  Extent extent;
  const PointMap* maps;
  unsigned per_row, pieces;
  std::uint64_t* sums;
  int bins;

  Job(const Voxel& v, const RatioInput& input, std::uint64_t* s)
      : voxel(v), extent(input.extent), maps(input.maps), per_row((input.extent.x + piece_voxels - 1) / piece_voxels),
        pieces(per_row * input.extent.y * input.extent.z), sums(s), bins(v.bins) {}

  /// Turns to the candidate of this block.
  __device__ void choose_candidate() {
    if (maps) voxel.point.map = maps[blockIdx.y];
    sums += blockIdx.y * (2 * std::size_t(bins) + 2);
  }
  __device__ unsigned long long* count(int bin) const { return reinterpret_cast<unsigned long long*>(sums) + bin; }
  __device__ unsigned long long* sum(int bin) const { return count(bins + bin); }
  __device__ unsigned long long* square() const { return count(2 * bins); }

  /// Calls f(voxel) for every lane of the warp together.
  template <class F>
  __device__ void for_piece(unsigned piece, F&& f) const {
    const unsigned row = piece / per_row;
    const int z = int(row / extent.y), y = int(row % extent.y), x0 = int(piece % per_row) * piece_voxels + int(threadIdx.x & 31);
    const std::size_t i = std::size_t(row) * extent.x;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) {
      const int x = x0 + 32 * k;
      if (x - int(threadIdx.x & 31) >= extent.x) break;
      RatioVoxel<Voxel::taps> v{-1, 0, {}};
      if (x < extent.x) v = voxel(x, y, z, i + x);
      f(v);
    }
  }
};

/// Sum of m y^2 of one thread, in two words that do not depend on how voxels are grouped.
template <bool wide>
struct Square {
  unsigned long long low = 0, high = 0;
  __device__ void add(std::uint32_t mass, std::uint32_t y) {
    if constexpr (wide) {
      const unsigned long long q = static_cast<unsigned long long>(mass) * y * y;
      low += std::uint32_t(q);
      high += q >> 32;
    } else {
      low += static_cast<unsigned long long>(y) * y;  // y is 0 where the mass is
    }
  }
};

__device__ inline unsigned warp_sum_32(unsigned v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(~0u, v);
#else
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  return v;
#endif
}

__device__ inline unsigned long long warp_sum(unsigned long long v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  return v;
}

/// Adds every thread's v to *target, one atomic per block. `lanes` is shared memory for 32 words.
__device__ inline void add_block_sum(unsigned long long v, unsigned long long* target, unsigned long long* lanes) {
  const int warps = int(blockDim.x / 32), lane = threadIdx.x & 31;
  v = warp_sum(v);
  __syncthreads();
  if (lane == 0) lanes[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = warp_sum(lane < warps ? lanes[lane] : 0);
    if (lane == 0 && v) atomicAdd(target, v);
  }
}

template <bool wide>
__device__ void add_block_square(const Square<wide>& q, unsigned long long* target) {
  __shared__ unsigned long long lanes[32];
  add_block_sum(q.low, target, lanes);
  if constexpr (wide) add_block_sum(q.high, target + 1, lanes);
}

/// Adds a warp's voxels through counters.add(bin, mass, sum of mass * y).
template <bool wide, int taps, class Counters>
__device__ void add_warp(const Counters& counters, const RatioVoxel<taps>& v) {
  const unsigned counting = __ballot_sync(~0u, v.bin >= 0);
  if (counting == 0) return;
  const int first = __shfl_sync(~0u, v.bin, __ffs(counting) - 1);
  const bool leader = (threadIdx.x & 31) == 0;
  if (__all_sync(~0u, v.bin < 0 || v.bin == first)) {
    for (int k = 0; k < taps; ++k)
      if constexpr (wide) {
        const std::uint32_t mass = warp_sum_32(v.mass[k]);
        const unsigned long long product = static_cast<unsigned long long>(v.mass[k]) * v.y;
        const unsigned long long low = warp_sum_32(unsigned(product & 0xFFFF));
        const unsigned long long high = warp_sum_32(unsigned(product >> 16));
        if (leader && mass) counters.add(first + k, mass, (high << 16) + low);
      } else {
        const std::uint32_t sum = warp_sum_32(v.y);
        if (leader) counters.add(first + k, std::uint32_t(__popc(counting)), sum);
      }
  } else if (v.bin >= 0) {
    for (int k = 0; k < taps; ++k)
      if constexpr (wide) {
        if (v.mass[k]) counters.add(v.bin + k, v.mass[k], static_cast<unsigned long long>(v.mass[k]) * v.y);
      } else {
        counters.add(v.bin + k, 1u, v.y);
      }
  }
}

inline cudaStream_t stream_of(backend::Cuda cuda) { return static_cast<cudaStream_t>(cuda.stream); }

}  // namespace ratio

}  // namespace freeflow
