// The m most similar patches in double, by looking at all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace freeflow::reference {

/// Squared distances of a patch to all patches, in double.
inline std::vector<double> patch_distances(const std::vector<float>& values, int length, int stride,
                                           int row) {
  const std::size_t count = values.size() / std::size_t(stride);
  std::vector<double> distances(count);
  const float* a = &values[std::size_t(row) * std::size_t(stride)];
  for (std::size_t j = 0; j < count; ++j) {
    const float* b = &values[j * std::size_t(stride)];
    for (int k = 0; k < length; ++k) distances[j] += std::pow(double(a[k]) - b[k], 2);
  }
  return distances;
}

/// What is wrong with the m neighbours found for a row, in words: distances that are not theirs,
/// disorder, the same one twice, a patch left out that is nearer than one taken. `part`: what of a
/// distance float arithmetic may take away or add.
inline std::string fault_of_neighbours(const std::vector<double>& distances,
                                       const std::int32_t* index, const float* found, int m,
                                       double part = 1e-5) {
  std::set<std::int32_t> taken;
  for (int k = 0; k < m; ++k) {
    if (index[k] < 0 || std::size_t(index[k]) >= distances.size()) return "no such patch";
    if (!taken.insert(index[k]).second) return "the same patch twice";
    const double d = distances[std::size_t(index[k])];
    if (std::abs(found[k] - d) > part * d)
      return "distance " + std::to_string(found[k]) + " of one " + std::to_string(d) + " away";
    if (k > 0 && (found[k] < found[k - 1] || (found[k] == found[k - 1] && index[k] < index[k - 1])))
      return "out of order";
  }
  for (std::size_t j = 0; j < distances.size(); ++j)
    if (!taken.contains(std::int32_t(j)) && distances[j] < (1 - 2 * part) * found[m - 1])
      return "a nearer patch was left out";
  return "";
}

}  // namespace freeflow::reference
