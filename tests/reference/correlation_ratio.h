// The correlation ratio in double, straight from its definition: the variance left within the bins
// by the whole variance.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow::reference {

/// One voxel's part: its mass in every bin and its intensity.
struct RatioSample {
  std::vector<double> mass;  // per bin
  double y = 0;
};

/// 1 - eta of weighted samples, by two passes: means first, then deviations.
inline double one_minus_eta(const std::vector<RatioSample>& samples, int bins) {
  std::vector<double> n(bins), s(bins);
  double mass = 0, sum = 0;
  for (const RatioSample& v : samples)
    for (std::size_t b = 0; b < v.mass.size(); ++b) {
      n[b] += v.mass[b];
      s[b] += v.mass[b] * v.y;
      mass += v.mass[b];
      sum += v.mass[b] * v.y;
    }
  double within = 0, all = 0;
  for (const RatioSample& v : samples)
    for (std::size_t b = 0; b < v.mass.size(); ++b)
      if (v.mass[b] > 0) {
        within += v.mass[b] * std::pow(v.y - s[b] / n[b], 2);
        all += v.mass[b] * std::pow(v.y - sum / mass, 2);
      }
  return mass > 0 ? within / all : std::numeric_limits<double>::quiet_NaN();
}

/// FLIRT's weight of a point of the moving image: falls from 1 at `border` voxels to 0 on the
/// image's border, per axis.
inline double border_weight(const Eigen::Vector3d& p, Extent n, const Eigen::Vector3d& border) {
  double w = 1;
  for (int a = 0; a < 3; ++a)
    if (border[a] > 0)
      w *= std::clamp(std::min(p[a] + 0.5, n[a] - 0.5 - p[a]) / border[a], 0.0, 1.0);
  return w;
}

}  // namespace freeflow::reference
