// Private: what the CUDA schemes share: how a candidate's voxels are dealt out to warps, and how a
// warp adds them. Work is dealt in pieces of 32 x 4 voxels of a slice, one column per lane: the
// samples of a warp stay together, a row of the moving image serves two rows of the fixed one, and
// the loads of two voxels are under way at once. Under an affine map a piece is a parallelogram:
// where its corners are inside the moving image all of it is, and needs no bounds and no weight.
// Where all lanes have the same bin (the background of most images) they sum among themselves and
// one adds for all: without that the hottest bin would serialise the warp.
#pragma once

#include <freeflow/similarity/ratio_histogram/schemes.h>
#include <freeflow/similarity/ratio_histogram/voxel_body.h>
#include <freeflow/core/cuda_check.cuh>

namespace freeflow {

namespace ratio {

inline constexpr int per_lane = 4;
inline constexpr int piece_voxels = 32 * per_lane;
/// So many pieces keep a 32-bit sum of masses of at most 65536, or of y of at most 65535, from
/// overflowing.
inline constexpr unsigned most_pieces = 65535 / piece_voxels;

/// n / d for n < 2^31 by a multiplication.
struct Divider {
  std::uint32_t factor;
  int shift = 31;
  explicit Divider(std::uint32_t d) {
    while ((std::uint64_t(1) << (shift - 31)) < d) ++shift;
    factor = std::uint32_t(((std::uint64_t(1) << shift) + d - 1) / d);
  }
  __device__ std::uint32_t operator()(std::uint32_t n) const {
    return std::uint32_t((std::uint64_t(n) * factor) >> shift);
  }
};

/// A grid cut into pieces, along x, then y, then z.
struct Pieces {
  Extent extent;
  unsigned along_x, of_slice, count;
  Divider by_slice, by_row;

  explicit Pieces(Extent n)
      : extent(n), along_x((n.x + 31) / 32), of_slice(along_x * ((n.y + per_lane - 1) / per_lane)),
        count(of_slice * n.z), by_slice(of_slice), by_row(along_x) {}

  /// A lane's column: voxels i, i + extent.x, ...; `rows` of them exist.
  struct Column {
    int x, y, z, rows;
    std::size_t i;
  };
  __device__ Column column(unsigned piece) const {
    const unsigned z = by_slice(piece), in_slice = piece - z * of_slice, row = by_row(in_slice);
    Column c;
    c.x = int((in_slice - row * along_x) * 32 + (threadIdx.x & 31));
    c.y = int(row * per_lane);
    c.z = int(z);
    c.rows = c.x < extent.x ? extent.y - c.y : 0;
    c.i = (std::size_t(z) * extent.y + c.y) * extent.x + c.x;
    return c;
  }
};

/// One candidate's voxels.
template <class Voxel>
struct Job {
  Voxel voxel;
  Pieces pieces;
  const PointMap* maps;
  std::uint64_t* sums;
  int bins;

  Job(const Voxel& v, const RatioInput& input, std::uint64_t* s)
      : voxel(v), pieces(input.extent), maps(input.maps), sums(s), bins(v.bins) {}

  /// Turns to the candidate of this block.
  __device__ void choose_candidate() {
    if (maps) voxel.point.map = maps[blockIdx.y];
    sums += blockIdx.y * (2 * std::size_t(bins) + 2);
  }
  __device__ unsigned long long* count(int bin) const {
    return reinterpret_cast<unsigned long long*>(sums) + bin;
  }
  __device__ unsigned long long* sum(int bin) const { return count(bins + bin); }
  __device__ unsigned long long* square() const { return count(2 * bins); }

  /// What this lane has of a piece: values of a plane of the fixed grid (no_value beyond it),
  /// samples (NaN beyond it), masses.
  struct Samples {
    std::uint16_t fixed[per_lane];
    float v[per_lane];
    std::uint32_t mass[per_lane];
  };

  __device__ Samples sample(unsigned piece, const std::uint16_t* plane) const {
    const Pieces::Column c = pieces.column(piece);
    const Extent n = voxel.moving.extent;
    Samples s;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) {
      s.fixed[k] =
          k < c.rows ? plane[c.i + std::size_t(k) * pieces.extent.x] : RatioInput::no_value;
      s.v[k] = NAN;
      s.mass[k] = Voxel::full_mass;
    }
    if (!Voxel::nearest && !voxel.point.u.data && n.x > 1 && n.y > 1 && n.z > 1) {
      // Each lane looks at one corner; rounding keeps the map monotonous, so what holds at the
      // corners holds between them.
      const int first = c.x - int(threadIdx.x & 31), last = min(first + 31, pieces.extent.x - 1);
      const int bottom = min(c.y + per_lane, pieces.extent.y) - 1;
      const Vec3f corner =
          voxel.point(threadIdx.x & 1 ? last : first, threadIdx.x & 2 ? bottom : c.y, c.z);
      if (__all_sync(~0u, inside(corner)))
        for_batches([&](int k) { sample_cells<false>(c, k, s); });
      else if (!misses(corner))
        for_batches([&](int k) { sample_cells<true>(c, k, s); });
    } else {
#pragma unroll
      for (int k = 0; k < per_lane; ++k)
        if (k < c.rows) {
          const Vec3f p = voxel.point(c.x, c.y + k, c.z);
          s.v[k] = voxel.sample(p);
          s.mass[k] = voxel.mass(p, s.v[k]);
        }
    }
    return s;
  }

  /// Calls f(voxel) for every lane of the warp together.
  template <class F>
  __device__ void for_piece(unsigned piece, F&& f) const {
    const Samples s = sample(piece, voxel.fixed);
#pragma unroll
    for (int k = 0; k < per_lane; ++k) f(voxel(s.v[k], s.fixed[k], s.mass[k]));
  }

 private:
  __device__ bool inside(const Vec3f& p) const {
    const Extent n = voxel.moving.extent;
    return p.x >= 0.0f && p.x < float(n.x - 1) && p.y >= 0.0f && p.y < float(n.y - 1) &&
           p.z >= 0.0f && p.z < float(n.z - 1) && (!Voxel::wide || voxel.weight(p, n) == 1.0f);
  }
  /// All corners lie beyond one side.
  __device__ bool misses(const Vec3f& p) const {
    const Extent n = voxel.moving.extent;
    return __all_sync(~0u, p.x < -0.5f) || __all_sync(~0u, p.x > float(n.x) - 0.5f) ||
           __all_sync(~0u, p.y < -0.5f) || __all_sync(~0u, p.y > float(n.y) - 0.5f) ||
           __all_sync(~0u, p.z < -0.5f) || __all_sync(~0u, p.z > float(n.z) - 0.5f);
  }

  /// As many voxels at a time as the registers hold.
  static constexpr int batch = 2;
  template <class F>
  static __device__ void for_batches(F&& f) {
#pragma unroll
    for (int k = 0; k < per_lane; k += batch) f(k);
  }

  /// sample_linear() of a batch without conversions, and with bounds only where asked for: added to
  /// 2^23 a number shows its integer part. All loads come first.
  template <bool bounded>
  __device__ void sample_cells(const Pieces::Column& column, int first, Samples& s) const {
    constexpr float shift = 8388608.0f;
    constexpr unsigned shift_bits = 0x4B000000u;
    const Extent n = voxel.moving.extent;
    const unsigned row = n.x, slice = row * n.y;
    Vec3f t[batch];
    Cell cell[batch];
    bool has[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const Vec3f p = voxel.point(column.x, column.y + first + k, column.z);
      has[k] = first + k < column.rows && (!bounded || has_value(p, n));
      if constexpr (Voxel::wide && bounded) s.mass[first + k] = voxel.mass(p, has[k] ? 0.0f : NAN);
      Vec3f c = p;
      if constexpr (bounded)
        c = {fminf(fmaxf(p.x, 0.0f), float(n.x - 1)), fminf(fmaxf(p.y, 0.0f), float(n.y - 1)),
             fminf(fmaxf(p.z, 0.0f), float(n.z - 1))};
      float fx = __fadd_rd(c.x, shift), fy = __fadd_rd(c.y, shift), fz = __fadd_rd(c.z, shift);
      if constexpr (bounded) {
        fx = fminf(fx, shift + float(n.x - 2));
        fy = fminf(fy, shift + float(n.y - 2));
        fz = fminf(fz, shift + float(n.z - 2));
      }
      t[k] = {c.x - (fx - shift), c.y - (fy - shift), c.z - (fz - shift)};
      const unsigned low = __float_as_uint(fz) * slice + __float_as_uint(fy) * row +
                           __float_as_uint(fx) - shift_bits * (slice + row + 1);
      if (!has[k]) continue;
      const float* const c00 = voxel.moving.data + low;
      const float *const c10 = c00 + row, *const c01 = c00 + slice, *const c11 = c01 + row;
      cell[k] = {c00[0], c00[1], c10[0], c10[1], c01[0], c01[1], c11[0], c11[1]};
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const Cell& c = cell[k];
      const float y0 = lerp(lerp(c.v000, c.v100, t[k].x), lerp(c.v010, c.v110, t[k].x), t[k].y);
      const float y1 = lerp(lerp(c.v001, c.v101, t[k].x), lerp(c.v011, c.v111, t[k].x), t[k].y);
      s.v[first + k] = has[k] ? lerp(y0, y1, t[k].z) : NAN;
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
__device__ inline void add_block_sum(unsigned long long v, unsigned long long* target,
                                     unsigned long long* lanes) {
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

/// A warp adds to counters.add(bin, n, s), every lane its own; bin -1 adds nothing. Not wide: s
/// stays below 2^21 per lane.
template <bool wide, class Counters>
__device__ void add_warp_sums(const Counters& counters, int bin, std::uint32_t n,
                              unsigned long long s) {
  const unsigned counting = __ballot_sync(~0u, bin >= 0);
  if (counting == 0) return;
  const int first = __shfl_sync(~0u, bin, __ffs(counting) - 1);
  if (__all_sync(~0u, bin < 0 || bin == first)) {
    n = warp_sum_32(n);
    unsigned long long sum = warp_sum_32(unsigned(wide ? s & 0xFFFF : s));
    if constexpr (wide)
      sum += static_cast<unsigned long long>(warp_sum_32(unsigned(s >> 16))) << 16;
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
                        wide ? static_cast<unsigned long long>(v.mass[k]) * v.y
                             : static_cast<unsigned long long>(v.y));
}

inline cudaStream_t stream_of(backend::Cuda cuda) { return static_cast<cudaStream_t>(cuda.stream); }

}  // namespace ratio

}  // namespace freeflow
