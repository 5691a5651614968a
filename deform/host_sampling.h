// Private: a field between its voxels, in double on the host.
#pragma once

#include <algorithm>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow {

/// Trilinear value at a position in voxels, in the unit of the field; the field goes on beyond its
/// grid with its border's values.
inline Eigen::Vector3d sample_on_host(FieldView<const float> u, const Eigen::Vector3d& p) {
  int low[3], step[3];
  double t[3];
  for (int a = 0; a < 3; ++a) {
    const int n = u.extent[a];
    const double c = std::clamp(p[a], 0.0, double(n - 1));
    low[a] = std::clamp(int(c), 0, std::max(n - 2, 0));
    step[a] = n > 1 ? 1 : 0;
    t[a] = c - low[a];
  }
  Eigen::Vector3d value = Eigen::Vector3d::Zero();
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    int at[3];
    for (int a = 0; a < 3; ++a) {
      const bool up = corner >> a & 1;
      weight *= up ? t[a] : 1 - t[a];
      at[a] = low[a] + (up ? step[a] : 0);
    }
    const std::size_t i = u.extent.offset(at[0], at[1], at[2]);
    for (int c = 0; c < 3; ++c) value[c] += weight * u.data[i + std::size_t(c) * u.extent.count()];
  }
  return value;
}

}  // namespace freeflow
