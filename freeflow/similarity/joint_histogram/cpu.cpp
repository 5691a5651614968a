// The CPU's way to count: one private histogram per thread, merged in the end. Weights are computed for a block of voxels
// at a time (vectorised), then scattered; a run of equal pairs (the background of most images) costs one addition.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <freeflow/similarity/joint_histogram/parzen_body.h>
#include <freeflow/similarity/joint_histogram/schemes.h>

namespace freeflow {

namespace {

constexpr int block = 512;

struct ParzenBlock {
  std::int32_t first[block];
  std::int32_t w[4][block];

  void fill(const float* warped, int n, int moving_bins) {
    for (int i = 0; i < n; ++i) {
      const ParzenWeights p = parzen_weights(warped[i] == warped[i] ? warped[i] : 1.0f, moving_bins);
      first[i] = p.first;
      for (int k = 0; k < 4; ++k) w[k][i] = p.w[k];
    }
  }
  void add(std::uint64_t* row, int i, std::uint64_t times) const {
    for (int k = 0; k < 4; ++k) row[first[i] + k] += times * std::uint64_t(w[k][i]);
  }
};

struct HardBlock {
  std::int32_t bin[block];

  void fill(const float* warped, int n, int moving_bins) {
    for (int i = 0; i < n; ++i) bin[i] = hard_bin(warped[i] == warped[i] ? warped[i] : 0.0f, moving_bins);
  }
  void add(std::uint64_t* row, int i, std::uint64_t times) const { row[bin[i]] += times; }
};

template <class Block>
void count_block(Block& weights, const HistogramShape& shape, const std::uint16_t* fixed, const float* warped, int n,
                 std::uint64_t* histogram) {
  weights.fill(warped, n, shape.moving_bins);
  for (int i = 0; i < n;) {
    int end = i + 1;
    while (end < n && warped[end] == warped[i] && fixed[end] == fixed[i]) ++end;
    if (fixed[i] != HistogramInput::no_bin && warped[i] == warped[i])
      weights.add(histogram + std::size_t(fixed[i]) * shape.moving_bins, i, std::uint64_t(end - i));
    i = end;
  }
}

template <class Block>
void count_all(backend::Cpu cpu, const HistogramShape& shape, const HistogramInput& input, std::uint64_t* histogram) {
  const std::ptrdiff_t blocks = std::ptrdiff_t((input.count + block - 1) / block);
#pragma omp parallel num_threads(cpu.threads)
  {
    static thread_local std::vector<std::uint64_t> mine;
    mine.assign(shape.bins(), 0);
    Block weights;
#pragma omp for schedule(dynamic, 64)
    for (std::ptrdiff_t b = 0; b < blocks; ++b) {
      const std::size_t begin = std::size_t(b) * block;
      count_block(weights, shape, input.fixed_bin + begin, input.warped + begin, int(std::min<std::size_t>(block, input.count - begin)),
                  mine.data());
    }
#pragma omp critical
    for (std::size_t i = 0; i < mine.size(); ++i) histogram[i] += mine[i];
  }
}

}  // namespace

void count_joint(backend::Cpu cpu, HistogramScheme, const HistogramShape& shape, const HistogramInput& input, std::uint64_t* histogram) {
  if (shape.estimator == Estimator::hard)
    count_all<HardBlock>(cpu, shape, input, histogram);
  else
    count_all<ParzenBlock>(cpu, shape, input, histogram);
}

}  // namespace freeflow
