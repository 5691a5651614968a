// Trilinear interpolation in double, written without looking at deform/sampling_body.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow::reference {

struct Image {
  Extent extent;
  const std::vector<float>& voxels;
  double at(int x, int y, int z) const {
    return voxels[(std::size_t(z) * extent.y + y) * extent.x + x];
  }
};

/// NaN farther than half a voxel from the grid; the nearest edge value within.
inline double trilinear(const Image& image, const Eigen::Vector3d& p) {
  int low[3];
  double t[3];
  for (int a = 0; a < 3; ++a) {
    const int n = image.extent[a];
    if (!(p[a] >= -0.5 && p[a] <= n - 0.5)) return std::numeric_limits<double>::quiet_NaN();
    const double c = std::clamp(p[a], 0.0, double(n - 1));
    low[a] = std::min(int(std::floor(c)), std::max(n - 2, 0));
    t[a] = c - low[a];
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double w = 1;
    int i[3];
    for (int a = 0; a < 3; ++a) {
      const int up = corner >> a & 1;
      w *= up ? t[a] : 1 - t[a];
      i[a] = std::min(low[a] + up, image.extent[a] - 1);
    }
    if (w != 0) sum += w * image.at(i[0], i[1], i[2]);
  }
  return sum;
}

}  // namespace freeflow::reference
