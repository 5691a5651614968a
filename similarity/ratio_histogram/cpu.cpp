// The CPU's way to count: private sums per thread, merged in the end. Voxels are sampled a block of
// a row at a time (vectorised), then scattered; a run of one bin (the background of most images)
// costs one addition.
#include <omp.h>

#include <algorithm>
#include <vector>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/similarity/ratio_histogram/schemes.h>
#include <freeflow/similarity/ratio_histogram/statistics_body.h>
#include <freeflow/similarity/ratio_histogram/voxel_body.h>

namespace freeflow {

namespace {

constexpr int block = 512;

/// A block of sampled voxels.
template <int taps>
struct Voxels {
  std::int32_t bin[block];
  std::uint32_t y[block], mass[taps][block];

  template <class Voxel>
  void fill(const Voxel& voxel, int x, int y_row, int z, std::size_t i, int n) {
#pragma GCC ivdep
    for (int k = 0; k < n; ++k) {
      const Vec3f p = voxel.point(x + k, y_row, z);
      const float sample = voxel.sample(p);
      const RatioVoxel<taps> v =
          voxel(sample, voxel.fixed[i + std::size_t(k)], voxel.mass(p, sample));
      bin[k] = v.bin;
      y[k] = v.y;
      for (int t = 0; t < taps; ++t) mass[t][k] = v.mass[t];
    }
  }

  void add_to(std::uint64_t* sums, int bins, int n) const {
    std::uint64_t low = 0, high = 0;
    for (int k = 0; k < n;) {
      std::uint64_t m[taps] = {}, s[taps] = {};
      const int b = bin[k];
      for (; k < n && bin[k] == b; ++k) {
        std::uint32_t total = 0;
        for (int t = 0; t < taps; ++t) {
          m[t] += mass[t][k];
          s[t] += std::uint64_t(mass[t][k]) * y[k];
          total += mass[t][k];
        }
        const std::uint64_t q = std::uint64_t(total) * y[k] * y[k];
        low += q & 0xFFFFFFFF;
        high += q >> 32;
      }
      if (b < 0) continue;
      for (int t = 0; t < taps; ++t) {
        sums[b + t] += m[t];
        sums[bins + b + t] += s[t];
      }
    }
    sums[2 * bins] += low;
    sums[2 * bins + 1] += high;
  }
};

template <class Voxel>
void count_candidate(backend::Cpu cpu, const Voxel& voxel, Extent n, std::uint64_t* sums) {
  const int pieces = (n.x + block - 1) / block, words = 2 * voxel.bins + 2;
  const std::ptrdiff_t tasks = std::ptrdiff_t(pieces) * n.y * n.z;
  ParallelErrors errors;
#pragma omp parallel num_threads(cpu.threads) if (n.count() >= 8192)
  {
    static thread_local std::vector<std::uint64_t> mine;
    errors.run([&] { mine.assign(words, 0); });
    Voxels<Voxel::taps> voxels;
    const Voxel local = voxel;
#pragma omp for schedule(dynamic, 64)
    for (std::ptrdiff_t task = 0; task < tasks; ++task) {
      if (errors.failed()) continue;
      const int row = int(task / pieces), x = int(task % pieces) * block,
                count = std::min(block, n.x - x);
      voxels.fill(local, x, row % n.y, row / n.y, std::size_t(row) * n.x + x, count);
      voxels.add_to(mine.data(), voxel.bins, count);
    }
#pragma omp critical
    for (int i = 0; !errors.failed() && i < words; ++i) sums[i] += mine[i];
  }
  errors.rethrow();
}

}  // namespace

void count_ratio(backend::Cpu cpu, const RatioPlan& plan, const RatioInput& input,
                 std::uint64_t* sums) {
  for (int c = 0; c < input.candidates; ++c) {
    RatioInput one = input;
    if (input.maps) one.map = input.maps[c];
    with_ratio_voxel(plan.shape, one, [&](const auto& voxel) {
      count_candidate(cpu, voxel, input.extent, sums + c * plan.shape.words());
    });
  }
}

void ratio_statistics(backend::Cpu, const RatioShape& shape, const std::uint64_t* sums,
                      int candidates, RatioStatistics* statistics) {
  for (int c = 0; c < candidates; ++c) {
    const RatioTerm body{{}, sums + c * shape.words(), shape.bins};
    double term[RatioTerm::terms];
    for (int t = 0; t < RatioTerm::terms; ++t)
      term[t] = reduction::fold_on_cpu<RatioTerm>(0, std::size_t(shape.bins),
                                                  [&](std::size_t i) { return body(i, t); });
    statistics[c] = ratio_statistics_from(term, body.square(), double(shape.unit()));
  }
}

void finish_ratio(backend::Cpu cpu, const RatioShape& shape, std::uint64_t* sums,
                  const RatioOutputs& outputs) {
  ratio_statistics(cpu, shape, sums, 1, outputs.statistics);
  *outputs.cost = outputs.statistics->cost;
  for (int bin = 0; bin < shape.bins; ++bin)
    outputs.means[bin] = ratio_mean(sums, shape.bins, bin, *outputs.statistics);
  std::fill_n(sums, shape.words(), std::uint64_t(0));
}

}  // namespace freeflow
