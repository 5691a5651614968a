// An image that a program has resampled against an interpolation that is not the library's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <freeflow/io/image_file.h>

#include "reference/grid.h"

namespace freeflow::test {

/// expected(y): what the image is to hold at a point of the world, NaN where it has no value and
/// the darkest voxel of `source` is to stand. Returns how many voxels have a value. On the border
/// of what has one, one voxel in a thousand may fall on either side.
template <class Expected>
std::size_t expect_resampled(const HostImage& image, const HostImage& source,
                             const Expected& expected) {
  const auto [low, high] = std::minmax_element(source.voxels.begin(), source.voxels.end());
  const Extent n = image.geometry.extent;
  std::size_t valued = 0, off = 0;
  double largest = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const double v = expected(reference::world_of(image.geometry, Eigen::Vector3d(x, y, z)));
        valued += !std::isnan(v);
        const double e = std::abs(image.voxels[n.offset(x, y, z)] - (std::isnan(v) ? *low : v));
        if (e > 1e-4 * (*high - *low))
          ++off;
        else
          largest = std::max(largest, e);
      }
  EXPECT_LE(off, n.count() / 1000) << "largest difference of the others: " << largest;
  return valued;
}

}  // namespace freeflow::test
