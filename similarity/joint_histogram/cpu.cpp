// The CPU's way to count: one private histogram per thread, merged in the end. Samples and weights
// are computed for a block of voxels at a time (vectorised), then scattered; a run of equal pairs
// (the background of most images) costs one addition.
#include <omp.h>

#include <algorithm>
#include <vector>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/core/simd_dispatch.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/joint_histogram/schemes.h>
#include <freeflow/similarity/joint_histogram/weights_body.h>

namespace freeflow {

namespace {

constexpr int block = RowCells::longest;
constexpr std::uint16_t no_bin = SampledPair::no_bin;

/// Reads blocks of a sampled pair: consecutive voxels.
struct SampledBlocks {
  SampledPair pair;
  std::ptrdiff_t blocks() const { return std::ptrdiff_t((pair.count + block - 1) / block); }
  int load(std::ptrdiff_t b, const std::uint16_t*& fixed, const float*& value, float*) const {
    const std::size_t begin = std::size_t(b) * block;
    fixed = pair.fixed_bin + begin;
    value = pair.warped + begin;
    return int(std::min<std::size_t>(block, pair.count - begin));
  }
};

/// Warps as it reads: a block is a piece of a row.
struct WarpedBlocks {
  WarpedPair pair;
  DisplacedPoint point{pair.map, pair.u, pair.first};
  int pieces = (pair.fixed_bin.extent.x + block - 1) / block;

  std::ptrdiff_t blocks() const {
    return std::ptrdiff_t(pieces) * pair.fixed_bin.extent.y * pair.fixed_bin.extent.z;
  }
  struct Piece {
    int x, y, z, n;
  };
  Piece piece(std::ptrdiff_t b) const {
    const Extent e = pair.fixed_bin.extent;
    const int row = int(b / pieces), x = int(b % pieces) * block;
    return {x, row % e.y, row / e.y, std::min(block, e.x - x)};
  }
  int load(std::ptrdiff_t b, const std::uint16_t*& fixed, const float*& value,
           float* buffer) const {
    const Piece p = piece(b);
    const WarpedPair local = pair;
    const DisplacedPoint at = point;
    fixed = local.fixed_bin.data + local.fixed_bin.offset(p.x, p.y, p.z);
    value = buffer;
    if (local.coefficients.data) {
      for (int i = 0; i < p.n; ++i)
        buffer[i] = sample_cubic(local.coefficients, local.moving, at(p.x + i, p.y, p.z));
    } else {
      RowCells cells;
      cells.locate(local.moving.extent, p.n, [&](int i) { return at(p.x + i, p.y, p.z); });
      cells.fetch(local.moving.data);
#pragma GCC ivdep
      for (int i = 0; i < p.n; ++i) buffer[i] = cells.value(i);
    }
    return p.n;
  }
};

struct ParzenBlock {
  std::int32_t first[block];
  std::uint32_t w[4][block];

  void fill(const float* value, int n, int moving_bins) {
    for (int i = 0; i < n; ++i) {
      const Weights<4> p = parzen_weights(value[i] == value[i] ? value[i] : 1.0f, moving_bins);
      first[i] = p.bin[0];
      for (int k = 0; k < 4; ++k) w[k][i] = p.weight[k];
    }
  }
  void add(std::uint64_t* row, int i, std::uint64_t times) const {
    for (int k = 0; k < 4; ++k) row[first[i] + k] += times * w[k][i];
  }
};

struct HardBlock {
  std::int32_t bin[block];

  void fill(const float* value, int n, int moving_bins) {
    for (int i = 0; i < n; ++i)
      bin[i] = hard_bin(value[i] == value[i] ? value[i] : 0.0f, moving_bins);
  }
  void add(std::uint64_t* row, int i, std::uint64_t times) const { row[bin[i]] += times; }
};

/// Runs add(b, histogram) for all blocks, a private histogram per thread, and merges them.
template <class Add>
void accumulate(backend::Cpu cpu, std::ptrdiff_t blocks, std::size_t bins, std::uint64_t* histogram,
                const Add& add) {
  std::fill_n(histogram, bins, 0);
  ParallelErrors errors;
#pragma omp parallel num_threads(cpu.threads)
  {
    static thread_local std::vector<std::uint64_t> mine;
    errors.run([&] { mine.assign(bins, 0); });
#pragma omp for schedule(dynamic, 64)
    for (std::ptrdiff_t b = 0; b < blocks; ++b)
      if (!errors.failed()) simd_dispatch([&] { add(b, mine.data()); });
#pragma omp critical
    if (!errors.failed())
      for (std::size_t i = 0; i < bins; ++i) histogram[i] += mine[i];
  }
  errors.rethrow();
}

template <class Block, class Blocks>
void count_blocks(backend::Cpu cpu, const HistogramShape& shape, const Blocks& source,
                  std::uint64_t* histogram) {
  accumulate(cpu, source.blocks(), shape.bins(), histogram,
             [&](std::ptrdiff_t b, std::uint64_t* mine) {
               float buffer[block];
               const std::uint16_t* fixed;
               const float* value;
               const int n = source.load(b, fixed, value, buffer);
               Block weights;
               weights.fill(value, n, shape.moving_bins);
               for (int i = 0; i < n;) {
                 int end = i + 1;
                 while (end < n && value[end] == value[i] && fixed[end] == fixed[i]) ++end;
                 if (fixed[i] != no_bin && value[i] == value[i])
                   weights.add(mine + std::size_t(fixed[i]) * shape.moving_bins, i,
                               std::uint64_t(end - i));
                 i = end;
               }
             });
}

void count_partial_volume(backend::Cpu cpu, const HistogramShape& shape, const WarpedBlocks& source,
                          std::uint64_t* histogram) {
  accumulate(
      cpu, source.blocks(), shape.bins(), histogram, [&](std::ptrdiff_t b, std::uint64_t* mine) {
        const WarpedBlocks::Piece p = source.piece(b);
        const VolumeView<const float> moving = source.pair.moving;
        const std::uint16_t* fixed =
            source.pair.fixed_bin.data + source.pair.fixed_bin.offset(p.x, p.y, p.z);
        for (int i = 0; i < p.n; ++i) {
          const Vec3f at = source.point(p.x + i, p.y, p.z);
          if (fixed[i] == no_bin || !has_value(at, moving.extent)) continue;
          const CellOnAxis cx = locate(at.x, moving.extent.x), cy = locate(at.y, moving.extent.y),
                           cz = locate(at.z, moving.extent.z);
          const Cell cell = fetch_cell(moving.data, moving.extent, cx, cy, cz);
          if (has_nan(cell)) continue;
          const Weights<8> w = partial_volume_weights(cell, cx, cy, cz, shape.moving_bins);
          std::uint64_t* row = mine + std::size_t(fixed[i]) * shape.moving_bins;
          for (int k = 0; k < 8; ++k) row[w.bin[k]] += w.weight[k];
        }
      });
}

/// Bytes: the pair of a voxel is its bin already. Two private histograms take turns, so that a hot
/// bin's additions overlap.
void count_binned(backend::Cpu cpu, const HistogramShape& shape, const BinnedPair& pair,
                  std::uint64_t* histogram) {
  constexpr std::size_t large_block = 1 << 16;
  const std::ptrdiff_t blocks = std::ptrdiff_t((pair.count + large_block - 1) / large_block);
  std::fill_n(histogram, shape.bins(), 0);
  ParallelErrors errors;
#pragma omp parallel num_threads(cpu.threads)
  {
    // Values beyond the bins are counted too, in a full 256 x 256 table, and left out when it is
    // merged.
    static thread_local std::vector<std::uint32_t> even, odd;
    errors.run([&] {
      even.assign(65536, 0);
      odd.assign(65536, 0);
    });
#pragma omp for schedule(dynamic, 1)
    for (std::ptrdiff_t b = 0; b < blocks; ++b) {
      if (errors.failed()) continue;
      const std::size_t begin = std::size_t(b) * large_block,
                        end = std::min(pair.count, begin + large_block);
      std::uint32_t *h0 = even.data(), *h1 = odd.data();
      std::size_t i = begin;
      for (; i + 1 < end; i += 2) {
        ++h0[std::size_t(pair.fixed[i]) << 8 | pair.moving[i]];
        ++h1[std::size_t(pair.fixed[i + 1]) << 8 | pair.moving[i + 1]];
      }
      if (i < end) ++h0[std::size_t(pair.fixed[i]) << 8 | pair.moving[i]];
    }
#pragma omp critical
    for (int f = 0; !errors.failed() && f < shape.fixed_bins; ++f)
      for (int m = 0; m < shape.moving_bins; ++m)
        histogram[std::size_t(f) * shape.moving_bins + m] +=
            std::uint64_t(even[std::size_t(f) << 8 | m]) + odd[std::size_t(f) << 8 | m];
  }
  errors.rethrow();
}

template <class Blocks>
void count_sampled(backend::Cpu cpu, const HistogramShape& shape, const Blocks& source,
                   std::uint64_t* histogram) {
  if (shape.estimator == Estimator::hard)
    count_blocks<HardBlock>(cpu, shape, source, histogram);
  else
    count_blocks<ParzenBlock>(cpu, shape, source, histogram);
}

}  // namespace

void count_joint(backend::Cpu cpu, HistogramScheme, const Counting& c) {
  if (const auto* binned = std::get_if<BinnedPair>(&c.input))
    return count_binned(cpu, c.shape, *binned, c.histogram);
  if (const auto* sampled = std::get_if<SampledPair>(&c.input))
    return count_sampled(cpu, c.shape, SampledBlocks{*sampled}, c.histogram);
  const WarpedBlocks warped{std::get<WarpedPair>(c.input)};
  if (c.shape.estimator == Estimator::partial_volume)
    return count_partial_volume(cpu, c.shape, warped, c.histogram);
  count_sampled(cpu, c.shape, warped, c.histogram);
}

std::size_t scratch_bytes(backend::Cpu, HistogramScheme, const HistogramShape&, std::size_t) {
  return 0;
}

}  // namespace freeflow
