#include <freeflow/registration/levels/outliers.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

namespace freeflow {

namespace {

struct Ends {
  float low = std::numeric_limits<float>::infinity(), high = -low;
};

/// Whether an end lies so far from the mean, beside the others, that few voxels may hold it. Most
/// images are told to have no outliers by this alone.
bool few_may_stretch(std::span<const float> voxels, const Ends& ends) {
  constexpr double suspicious = 20;
  double sum = 0, count = 0, deviation = 0;
  for (const float v : voxels)
    if (std::isfinite(v)) {
      sum += v;
      ++count;
    }
  const double mean = sum / count;
  for (const float v : voxels)
    if (std::isfinite(v)) deviation += std::abs(v - mean);
  return std::max(ends.high - mean, mean - ends.low) > suspicious * deviation / count;
}

Ends all_but_tails(std::span<const float> voxels) {
  constexpr double tail = 0.001;
  std::vector<float> finite;
  finite.reserve(voxels.size());
  std::ranges::copy_if(voxels, std::back_inserter(finite),
                       [](float v) { return std::isfinite(v); });
  const auto at = [&](double rank) {
    const auto place = finite.begin() + std::ptrdiff_t(rank * double(finite.size() - 1));
    std::nth_element(finite.begin(), place, finite.end());
    return *place;
  };
  return {at(tail), at(1 - tail)};
}

}  // namespace

void cut_outliers(std::span<float> voxels) {
  Ends ends;
  for (const float v : voxels)
    if (std::isfinite(v)) ends = {std::min(ends.low, v), std::max(ends.high, v)};
  if (!(ends.low < ends.high) || !few_may_stretch(voxels, ends)) return;
  constexpr double far = 3;
  const Ends most = all_but_tails(voxels);
  const double range = double(most.high) - double(most.low);
  if (!(range > 0)) return;
  const double least = most.low - far * range, greatest = most.high + far * range;
  for (float& v : voxels)
    if (std::isfinite(v)) v = v < least ? most.low : v > greatest ? most.high : v;
}

}  // namespace freeflow
