// Private: what the CUDA schemes share: how a candidate's voxels are dealt out to warps, and how a warp adds them.
// Work is dealt in pieces of up to 128 voxels of one row, four per lane: rows keep the samples of a warp together, and the
// row's index is divided once. Under an affine map the samples of a piece lie on a line: where both its ends are inside the
// moving image all of it is, and the bounds, the border's weight and most of the map need no work per voxel. Where all lanes have the same
// bin (the background of most images) they sum among themselves and one adds for all: without that the hottest bin would serialise the
// warp.
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

  /// What this lane has of a piece: voxels i, i + 32, ... of the fixed grid, `left` of the row from i on.
  struct Samples {
    std::size_t i;
    int left;
    float v[per_lane];  // NaN beyond the row
    std::uint32_t mass[per_lane];
    __device__ void set(int k, float value, std::uint32_t m) {
      v[k] = value;
      mass[k] = m;
    }
  };

  __device__ Samples sample(unsigned piece) const {
    const unsigned row = piece / per_row;
    const int z = int(row / extent.y), y = int(row % extent.y), first = int(piece % per_row) * piece_voxels;
    const int x = first + int(threadIdx.x & 31);
    Samples s;
    s.i = std::size_t(row) * extent.x + x;
    s.left = extent.x - x;
    const Line line(voxel.point.map, y, z);
    const Vec3f begin = line(first), end = line(min(first + piece_voxels, extent.x) - 1);
    const Extent n = voxel.moving.extent;
    const bool straight = !Voxel::nearest && !voxel.point.u.data && n.x > 1 && n.y > 1 && n.z > 1;
    if (straight && misses(begin, end)) {
#pragma unroll
      for (int k = 0; k < per_lane; ++k) s.set(k, NAN, 0);
    } else if (straight && inside(begin) && inside(end)) {
#pragma unroll
      for (int k = 0; k < per_lane; ++k) s.set(k, 32 * k < s.left ? sample_cell<false>(line(x + 32 * k)) : NAN, Voxel::full_mass);
    } else if (straight) {
#pragma unroll
      for (int k = 0; k < per_lane; ++k) {
        const Vec3f p = line(x + 32 * k);
        const float v = 32 * k < s.left ? sample_cell<true>(p) : NAN;
        s.set(k, v, voxel.mass(p, v));
      }
    } else {
#pragma unroll
      for (int k = 0; k < per_lane; ++k) {
        if (32 * k >= s.left) {
          s.set(k, NAN, 0);
          continue;
        }
        const Vec3f p = voxel.point(x + 32 * k, y, z);
        const float v = voxel.sample(p);
        s.set(k, v, voxel.mass(p, v));
      }
    }
    return s;
  }

  /// Calls f(voxel) for every lane of the warp together.
  template <class F>
  __device__ void for_piece(unsigned piece, F&& f) const {
    const Samples s = sample(piece);
#pragma unroll
    for (int k = 0; k < per_lane; ++k) {
      const std::uint16_t fixed = 32 * k < s.left ? voxel.fixed[s.i + 32 * k] : RatioInput::no_value;
      f(voxel(s.v[k], fixed, s.mass[k]));
    }
  }

 private:
  /// The map along a row: the very operations of map_point, those that x does not enter done once.
  struct Line {
    Vec3f slope, start;
    __device__ Line(const PointMap& map, int y, int z) {
      const auto& m = map.m;
      slope = {m[0][0], m[1][0], m[2][0]};
      start = {fma_(m[0][1], float(y), fma_(m[0][2], float(z), m[0][3])), fma_(m[1][1], float(y), fma_(m[1][2], float(z), m[1][3])),
               fma_(m[2][1], float(y), fma_(m[2][2], float(z), m[2][3]))};
    }
    __device__ Vec3f operator()(int x) const {
      return {fma_(slope.x, float(x), start.x), fma_(slope.y, float(x), start.y), fma_(slope.z, float(x), start.z)};
    }
  };

  /// Rounding keeps a line monotonous, so what holds at both ends holds between them.
  __device__ bool inside(const Vec3f& p) const {
    const Extent n = voxel.moving.extent;
    return p.x >= 0.0f && p.x < float(n.x - 1) && p.y >= 0.0f && p.y < float(n.y - 1) && p.z >= 0.0f && p.z < float(n.z - 1) &&
           (!Voxel::wide || voxel.weight(p, n) == 1.0f);
  }
  __device__ bool misses(const Vec3f& a, const Vec3f& b) const {
    const Extent n = voxel.moving.extent;
    return fmaxf(a.x, b.x) < -0.5f || fminf(a.x, b.x) > float(n.x) - 0.5f || fmaxf(a.y, b.y) < -0.5f ||
           fminf(a.y, b.y) > float(n.y) - 0.5f || fmaxf(a.z, b.z) < -0.5f || fminf(a.z, b.z) > float(n.z) - 0.5f;
  }

  /// sample_linear() without conversions and with bounds only where asked for: added to 2^23 a number shows its integer part.
  template <bool bounded>
  __device__ float sample_cell(const Vec3f& p) const {
    constexpr float shift = 8388608.0f;
    constexpr unsigned shift_bits = 0x4B000000u;
    const Extent n = voxel.moving.extent;
    Vec3f c = p;
    if constexpr (bounded)
      c = {fminf(fmaxf(p.x, 0.0f), float(n.x - 1)), fminf(fmaxf(p.y, 0.0f), float(n.y - 1)), fminf(fmaxf(p.z, 0.0f), float(n.z - 1))};
    float fx = __fadd_rd(c.x, shift), fy = __fadd_rd(c.y, shift), fz = __fadd_rd(c.z, shift);
    if constexpr (bounded) {
      fx = fminf(fx, shift + float(n.x - 2));
      fy = fminf(fy, shift + float(n.y - 2));
      fz = fminf(fz, shift + float(n.z - 2));
    }
    const float tx = c.x - (fx - shift), ty = c.y - (fy - shift), tz = c.z - (fz - shift);
    const unsigned row = n.x, slice = row * n.y;
    const unsigned low = __float_as_uint(fz) * slice + __float_as_uint(fy) * row + __float_as_uint(fx) - shift_bits * (slice + row + 1);
    const float* const c00 = voxel.moving.data + low;
    const float *const c10 = c00 + row, *const c01 = c00 + slice, *const c11 = c01 + row;
    const float y0 = lerp(lerp(c00[0], c00[1], tx), lerp(c10[0], c10[1], tx), ty);
    const float y1 = lerp(lerp(c01[0], c01[1], tx), lerp(c11[0], c11[1], tx), ty);
    return !bounded || has_value(p, n) ? lerp(y0, y1, tz) : NAN;
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

/// A warp adds to counters.add(bin, n, s), every lane its own; bin -1 adds nothing. Not wide: s stays below 2^21 per lane.
template <bool wide, class Counters>
__device__ void add_warp_sums(const Counters& counters, int bin, std::uint32_t n, unsigned long long s) {
  const unsigned counting = __ballot_sync(~0u, bin >= 0);
  if (counting == 0) return;
  const int first = __shfl_sync(~0u, bin, __ffs(counting) - 1);
  if (__all_sync(~0u, bin < 0 || bin == first)) {
    n = warp_sum_32(n);
    unsigned long long sum = warp_sum_32(unsigned(wide ? s & 0xFFFF : s));
    if constexpr (wide) sum += static_cast<unsigned long long>(warp_sum_32(unsigned(s >> 16))) << 16;
    if ((threadIdx.x & 31) == 0 && n) counters.add(first, n, sum);
  } else if (bin >= 0 && n) {
    counters.add(bin, n, s);
  }
}

/// A warp adds one voxel per lane.
template <bool wide, int taps, class Counters>
__device__ void add_warp(const Counters& counters, const RatioVoxel<taps>& v) {
#pragma unroll
  for (int k = 0; k < taps; ++k)
    add_warp_sums<wide>(counters, v.bin < 0 ? -1 : v.bin + k, v.mass[k],
                        wide ? static_cast<unsigned long long>(v.mass[k]) * v.y : static_cast<unsigned long long>(v.y));
}

inline cudaStream_t stream_of(backend::Cuda cuda) { return static_cast<cudaStream_t>(cuda.stream); }

}  // namespace ratio

}  // namespace freeflow
