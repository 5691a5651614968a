// The range that a measure takes intensities to have, made so that it can be said without the
// library: of an image whose brightest and darkest voxels are many and equal it is theirs.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace freeflow::reference {

struct Range {
  float low = 0, high = 1;
  /// Where a value lies, 0 to 1.
  double share(double v) const { return (v - low) / (double(high) - low); }
};

/// Cuts off five times as many values at each end as the library's robust range leaves out, and
/// returns what is left: smallest and largest value.
inline Range clip_tails(std::vector<float>& values) {
  std::vector<float> sorted;
  for (const float v : values)
    if (!std::isnan(v)) sorted.push_back(v);
  std::sort(sorted.begin(), sorted.end());
  const std::size_t tail = sorted.size() / 200 + 1;
  const Range r{sorted[tail], sorted[sorted.size() - 1 - tail]};
  for (float& v : values)
    if (!std::isnan(v)) v = std::clamp(v, r.low, r.high);
  return r;
}

}  // namespace freeflow::reference
