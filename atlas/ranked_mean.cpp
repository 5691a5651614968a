#include <freeflow/atlas/ranked_mean.h>

#include <algorithm>
#include <cmath>

namespace freeflow {

namespace {

/// f(voxel) for all, on several threads.
template <class F>
void for_each(std::size_t voxels, int threads, const F& f) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t(voxels); ++i) f(std::size_t(i));
}

}  // namespace

void RankedMean::add(const std::vector<float>& image) {
  std::vector<std::uint16_t> steps(image.size(), nothing);
  for (std::size_t i = 0; i < image.size(); ++i)
    if (std::isfinite(image[i]))
      steps[i] = std::uint16_t(
          std::clamp(std::floor((double(image[i]) - low_) / unit_ + 0.5), 0.0, 65534.0));
  images_.push_back(std::move(steps));
}

std::vector<std::int64_t> RankedMean::count_below(const std::vector<std::int64_t>& limit,
                                                  Ranks& ranks, int threads) const {
  std::vector<std::int64_t> count(voxels_);
  for_each(voxels_, threads, [&](std::size_t i) {
    std::int64_t n = 0;
    for (const std::vector<std::uint16_t>& image : images_) n += image[i] < limit[i];
    count[i] = n;
  });
  ranks.sum(count);
  return count;
}

std::vector<std::int64_t> RankedMean::value_of_rank(const std::vector<std::int64_t>& rank,
                                                    Ranks& ranks, int threads) const {
  std::vector<std::int64_t> value(voxels_);
  for (std::int64_t bit = 1 << 15; bit > 0; bit /= 2) {
    std::vector<std::int64_t> tried = value;
    for (std::int64_t& v : tried) v += bit;
    const std::vector<std::int64_t> below = count_below(tried, ranks, threads);
    for (std::size_t i = 0; i < voxels_; ++i)
      if (below[i] <= rank[i]) value[i] = tried[i];
  }
  return value;
}

std::vector<float> RankedMean::mean(Ranks& ranks, int threads) const {
  const std::vector<std::int64_t> all(voxels_, nothing), present = count_below(all, ranks, threads);
  std::vector<std::int64_t> first(voxels_), last(voxels_);
  for (std::size_t i = 0; i < voxels_; ++i) {
    const std::int64_t n = present[i], middle = std::max<std::int64_t>(0, (n - 1) / 2);
    first[i] = std::min(middle, std::int64_t(share_ * double(n)));
    last[i] = n - 1 - first[i];
  }
  const std::vector<std::int64_t> low = value_of_rank(first, ranks, threads),
                                  high = value_of_rank(last, ranks, threads),
                                  below_low = count_below(low, ranks, threads);
  std::vector<std::int64_t> limit = high;
  for (std::int64_t& v : limit) ++v;
  const std::vector<std::int64_t> up_to_high = count_below(limit, ranks, threads);
  std::vector<std::int64_t> sum(voxels_);
  for_each(voxels_, threads, [&](std::size_t i) {
    for (const std::vector<std::uint16_t>& image : images_)
      if (image[i] >= low[i] && image[i] <= high[i]) sum[i] += image[i];
  });
  ranks.sum(sum);
  std::vector<float> mean(voxels_, NAN);
  for (std::size_t i = 0; i < voxels_; ++i) {
    if (present[i] == 0) continue;
    // of those equal to a limit, the ones whose rank is beyond it do not count
    const std::int64_t kept =
        sum[i] - (first[i] - below_low[i]) * low[i] - (up_to_high[i] - 1 - last[i]) * high[i];
    mean[i] = float(low_ + unit_ * (double(kept) / double(last[i] - first[i] + 1)));
  }
  return mean;
}

}  // namespace freeflow
