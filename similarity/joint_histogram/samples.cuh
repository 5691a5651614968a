// Private: what the schemes count, read by warps. An input is cut into tiles of 32 lanes times
// `vector` voxels; warps of any kernel take tiles as they like. A pass over some rows (fixed bins)
// tells them, so that a voxel of another row need not be sampled.
//   Voxels   tile, lane -> fixed row and moving value      (sampled, or warped on the fly)
//   Keys     tile, lane -> number of a bin                 (hard estimate)
//   Masses   tile, lane -> row, bins and weights           (Parzen, partial volume)
#pragma once

#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/joint_histogram/schemes.h>
#include <freeflow/similarity/joint_histogram/weights_body.h>
#include <freeflow/core/shared_memory.cuh>
#include <freeflow/core/shares.cuh>

namespace freeflow {

inline constexpr unsigned no_key = ~0u;

/// The fixed bins of a pass.
struct Rows {
  unsigned first, count;
  __device__ bool has(unsigned row) const { return row - first < count; }
};

/// Division by a constant of the launch, for numerators below 2^31 (Granlund and Montgomery 1994).
struct FastDivisor {
  unsigned divisor, shift;
  std::uint64_t multiplier;
  explicit FastDivisor(unsigned d) : divisor(d), shift(31) {
    for (unsigned p = 1; p < d; p *= 2) ++shift;
    multiplier = ((std::uint64_t(1) << shift) + d - 1) / d;
  }
  __device__ unsigned quotient(unsigned n) const { return unsigned((n * multiplier) >> shift); }
};

inline unsigned tiles_of(std::size_t count, int vector) {
  return unsigned((count + 32 * vector - 1) / (32 * vector));
}

/// Consecutive voxels of two sampled images, four to a lane, or one where weights take the
/// registers.
template <int n>
struct SampledVoxels {
  static constexpr int vector = n;
  static constexpr bool samples = false;
  SampledPair pair;
  bool aligned;

  explicit SampledVoxels(const SampledPair& p)
      : pair(p), aligned(reinterpret_cast<std::uintptr_t>(p.warped) % 16 == 0 &&
                         reinterpret_cast<std::uintptr_t>(p.fixed_bin) % 8 == 0) {}
  unsigned tiles() const { return tiles_of(pair.count, vector); }
  /// The index of the lane's k-th voxel.
  __device__ std::size_t index(unsigned tile, int lane, int k) const {
    return (std::size_t(tile) * 32 + lane) * vector + k;
  }
  __device__ void load(unsigned tile, int lane, Rows, unsigned (&row)[vector],
                       float (&value)[vector]) const {
    const std::size_t i = index(tile, lane, 0);
    if (vector == 4 && aligned && i + vector <= pair.count) {
      const float4 v = __ldcs(reinterpret_cast<const float4*>(pair.warped + i));
      const ushort4 f = __ldcs(reinterpret_cast<const ushort4*>(pair.fixed_bin + i));
      const float values[4] = {v.x, v.y, v.z, v.w};
      const unsigned rows[4] = {f.x, f.y, f.z, f.w};
      for (int k = 0; k < vector; ++k) value[k] = values[k], row[k] = rows[k];
      return;
    }
    for (int k = 0; k < vector; ++k) {
      row[k] = i + k < pair.count ? pair.fixed_bin[i + k] : SampledPair::no_bin;
      value[k] = i + k < pair.count ? pair.warped[i + k] : NAN;
    }
  }
};

/// Runs of 32 voxels along x; sixteen neighbouring runs (4 in y, 4 in z) follow each other, so that
/// a block's samples share cache lines.
struct RunsOfVoxels {
  Extent extent;
  FastDivisor across, down;

  explicit RunsOfVoxels(Extent e) : extent(e), across((e.x + 31) / 32), down((e.y + 3) / 4) {}
  unsigned tiles() const {
    return across.divisor * down.divisor * unsigned((extent.z + 3) / 4) * 16;
  }
  struct Place {
    int x, y, z;
    bool inside;
  };
  __device__ Place place(unsigned tile, int lane) const {
    const unsigned group = tile / 16, slab = across.quotient(group), layer = down.quotient(slab);
    const int x = int(group - slab * across.divisor) * 32 + lane,
              y = int(slab - layer * down.divisor) * 4 + int(tile % 4),
              z = int(layer) * 4 + int(tile / 4 % 4);
    return {x, y, z, x < extent.x && y < extent.y && z < extent.z};
  }
};

/// The fixed row of a lane's voxel, no_bin where there is none, and where it falls: all loads are
/// under way before the first is needed, since these kernels wait for memory more than they
/// compute.
struct LandedVoxel {
  unsigned row;
  Vec3f point;

  __device__ LandedVoxel(const WarpedPair& pair, const RunsOfVoxels& runs, unsigned tile, int lane)
      : row(SampledPair::no_bin) {
    const auto [x, y, z, inside] = runs.place(tile, lane);
    if (!inside) return;
    point = DisplacedPoint{pair.map, pair.u, pair.first}(x, y, z);
    row = pair.fixed_bin(x, y, z);
  }
};

/// Voxels of the fixed image with the moving image sampled where they fall.
template <Interpolation interpolation>
struct WarpedVoxels {
  static constexpr int vector = 1;
  static constexpr bool samples = true;
  WarpedPair pair;
  RunsOfVoxels runs;

  explicit WarpedVoxels(const WarpedPair& p) : pair(p), runs(p.fixed_bin.extent) {}
  unsigned tiles() const { return runs.tiles(); }
  __device__ std::size_t index(unsigned tile, int lane, int) const {
    const auto [x, y, z, inside] = runs.place(tile, lane);
    return inside ? pair.fixed_bin.offset(x, y, z) : ~std::size_t(0);
  }
  __device__ void load(unsigned tile, int lane, Rows rows, unsigned (&row)[1],
                       float (&value)[1]) const {
    const LandedVoxel v(pair, runs, tile, lane);
    row[0] = v.row;
    value[0] = NAN;
    if (!rows.has(v.row)) return;
    value[0] = interpolation == Interpolation::cubic
                   ? sample_cubic(pair.coefficients, pair.moving, v.point)
                   : sample_linear(pair.moving, v.point);
  }
};

/// Keys of voxels: row * moving_bins + bin.
template <class Voxels>
struct HardKeys {
  static constexpr int vector = Voxels::vector;
  Voxels voxels;
  int moving_bins;

  unsigned tiles() const { return voxels.tiles(); }
  __device__ std::size_t index(unsigned tile, int lane, int k) const {
    return voxels.index(tile, lane, k);
  }
  __device__ void load(unsigned tile, int lane, Rows rows, unsigned (&key)[vector]) const {
    unsigned row[vector];
    float value[vector];
    voxels.load(tile, lane, rows, row, value);
    for (int k = 0; k < vector; ++k)
      key[k] = rows.has(row[k]) && value[k] == value[k]
                   ? row[k] * moving_bins + hard_bin(value[k], moving_bins)
                   : no_key;
  }
};

/// Keys of byte pairs, sixteen to a lane: a warp reads 512 bytes of each image.
struct BinnedKeys {
  static constexpr int vector = 16;
  BinnedPair pair;
  unsigned fixed_bins, moving_bins;
  bool aligned;

  BinnedKeys(const BinnedPair& p, const HistogramShape& shape)
      : pair(p), fixed_bins(shape.fixed_bins), moving_bins(shape.moving_bins),
        aligned((reinterpret_cast<std::uintptr_t>(p.fixed) |
                 reinterpret_cast<std::uintptr_t>(p.moving)) %
                    16 ==
                0) {}
  unsigned tiles() const { return tiles_of(pair.count, vector); }
  __device__ std::size_t index(unsigned tile, int lane, int k) const {
    return (std::size_t(tile) * 32 + lane) * vector + k;
  }
  __device__ void load(unsigned tile, int lane, Rows, unsigned (&key)[vector]) const {
    const std::size_t i = index(tile, lane, 0);
    if (aligned && i + vector <= pair.count) {
      const uint4 f4 = __ldcs(reinterpret_cast<const uint4*>(pair.fixed + i)),
                  m4 = __ldcs(reinterpret_cast<const uint4*>(pair.moving + i));
      const unsigned f[4] = {f4.x, f4.y, f4.z, f4.w}, m[4] = {m4.x, m4.y, m4.z, m4.w};
#pragma unroll
      for (int k = 0; k < vector; ++k)
        key[k] = number(f[k / 4] >> (8 * (k % 4)) & 255, m[k / 4] >> (8 * (k % 4)) & 255);
      return;
    }
#pragma unroll
    for (int k = 0; k < vector; ++k)
      key[k] = i + k < pair.count ? number(pair.fixed[i + k], pair.moving[i + k]) : no_key;
  }

 private:
  __device__ unsigned number(unsigned f, unsigned m) const {
    return (f < fixed_bins) & (m < moving_bins) ? f * moving_bins + m : no_key;
  }
};

/// A voxel's share of the histogram. Voxels of one row and one signature have the same weights;
/// `unique` promises nothing.
template <int n>
struct Mass {
  static constexpr unsigned unique = ~0u;
  unsigned row, signature;
  bool counts;
  Weights<n> weights;
};

template <class Voxels>
struct ParzenMasses {
  static constexpr int vector = Voxels::vector, terms = 4;
  static constexpr bool samples = Voxels::samples;  ///< the moving image, which takes registers
  Voxels voxels;
  int moving_bins;

  unsigned tiles() const { return voxels.tiles(); }
  __device__ void load(unsigned tile, int lane, Rows rows, Mass<terms> (&mass)[vector]) const {
    unsigned row[vector];
    float value[vector];
    voxels.load(tile, lane, rows, row, value);
    for (int k = 0; k < vector; ++k) {
      mass[k].row = row[k];
      mass[k].signature = __float_as_uint(value[k]);
      mass[k].counts = rows.has(row[k]) && value[k] == value[k];
      mass[k].weights = parzen_weights(value[k], moving_bins);
    }
  }
};

struct PartialVolumeMasses {
  static constexpr int vector = 1, terms = 8;
  static constexpr bool samples = true;
  WarpedPair pair;
  RunsOfVoxels runs;
  int moving_bins;

  PartialVolumeMasses(const WarpedPair& p, int bins)
      : pair(p), runs(p.fixed_bin.extent), moving_bins(bins) {}
  unsigned tiles() const { return runs.tiles(); }
  __device__ void load(unsigned tile, int lane, Rows rows, Mass<terms> (&masses)[1]) const {
    Mass<terms>& mass = masses[0];
    const LandedVoxel v(pair, runs, tile, lane);
    mass.counts = false;
    mass.signature = Mass<terms>::unique;
    mass.row = v.row;
    if (!rows.has(v.row)) return;
    const Vec3f p = v.point;
    const Extent n = pair.moving.extent;
    if (!has_value(p, n)) return;
    const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
    const Cell cell = fetch_cell(pair.moving.data, n, cx, cy, cz);
    if (has_nan(cell)) return;
    Weights<terms>& w = mass.weights;
    w = partial_volume_weights(cell, cx, cy, cz, moving_bins);
    mass.counts = true;
    // Neighbours that share a bin are one term; where all do (flat regions), so does the warp more
    // often than not.
    bool flat = true;
#pragma unroll
    for (int k = 1; k < terms; ++k) {
      flat &= w.bin[k] == w.bin[0];
      if (w.bin[k] == w.bin[k - 1]) {
        w.weight[k] += w.weight[k - 1];
        w.weight[k - 1] = 0;
      }
    }
    if (flat) mass.signature = unsigned(w.bin[0]);
  }
};

/// Calls f with the keys of the input.
template <class F>
void with_keys(const Counting& c, F&& f) {
  const int bins = c.shape.moving_bins;
  if (const auto* binned = std::get_if<BinnedPair>(&c.input))
    return f(BinnedKeys(*binned, c.shape));
  if (const auto* sampled = std::get_if<SampledPair>(&c.input))
    return f(HardKeys<SampledVoxels<4>>{SampledVoxels<4>(*sampled), bins});
  const auto& warped = std::get<WarpedPair>(c.input);
  if (warped.coefficients.data)
    return f(HardKeys<WarpedVoxels<Interpolation::cubic>>{
        WarpedVoxels<Interpolation::cubic>(warped), bins});
  f(HardKeys<WarpedVoxels<Interpolation::linear>>{WarpedVoxels<Interpolation::linear>(warped),
                                                  bins});
}

/// Calls f with the masses of the input, for the estimators that have weights.
template <class F>
void with_masses(const Counting& c, F&& f) {
  const int bins = c.shape.moving_bins;
  if (const auto* sampled = std::get_if<SampledPair>(&c.input))
    return f(ParzenMasses<SampledVoxels<1>>{SampledVoxels<1>(*sampled), bins});
  const auto& warped = std::get<WarpedPair>(c.input);
  if (c.shape.estimator == Estimator::partial_volume) return f(PartialVolumeMasses(warped, bins));
  if (warped.coefficients.data)
    return f(ParzenMasses<WarpedVoxels<Interpolation::cubic>>{
        WarpedVoxels<Interpolation::cubic>(warped), bins});
  f(ParzenMasses<WarpedVoxels<Interpolation::linear>>{WarpedVoxels<Interpolation::linear>(warped),
                                                      bins});
}

struct DeviceLimits {
  int processors = 0, shared_per_block = 0, shared_per_processor = 0;

  static DeviceLimits current() {
    DeviceLimits limits;
    int device;
    cuda_check(cudaGetDevice(&device));
    cuda_check(cudaDeviceGetAttribute(&limits.processors, cudaDevAttrMultiProcessorCount, device));
    cuda_check(cudaDeviceGetAttribute(&limits.shared_per_block,
                                      cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    cuda_check(cudaDeviceGetAttribute(&limits.shared_per_processor,
                                      cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    return limits;
  }
};

inline cudaStream_t stream_of(backend::Cuda cuda) { return static_cast<cudaStream_t>(cuda.stream); }

/// Adds up partial histograms: histogram[b] = (or +=) sum over copies of partial[copy * stride +
/// b].
void merge_partials(backend::Cuda, const std::uint32_t* partial, int copies, std::size_t stride,
                    std::size_t bins, bool add, std::uint64_t* histogram);
void merge_partials(backend::Cuda, const std::uint64_t* partial, int copies, std::size_t stride,
                    std::size_t bins, bool add, std::uint64_t* histogram);

}  // namespace freeflow
