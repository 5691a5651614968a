// The smallest of the eight Jacobian determinants at a voxel's corners, on the host.
#pragma once

#include <algorithm>
#include <limits>

#include <Eigen/Geometry>

#include <freeflow/deform/host_sampling.h>

namespace freeflow {

/// d(x + u) / d(an axis), per voxel, from `down` voxels before to `up` after.
inline Eigen::Vector3d derivative_on_host(const FieldView<const float>& u, const int (&at)[3],
                                          int axis, int down, int up) {
  Eigen::Vector3d d = Eigen::Vector3d::Unit(axis);
  if (down + up == 0) return d;
  const int x = axis == 0, y = axis == 1, z = axis == 2;
  const auto value = [&](int by) {
    return vector_on_host(u, u.extent.offset(at[0] + by * x, at[1] + by * y, at[2] + by * z));
  };
  d += (value(up) - value(-down)) / double(down + up);
  return d;
}

/// The least det(I + grad u) of forward or backward differences along each axis (Liu et al. 2024,
/// On finite difference Jacobian computation in deformable image registration), of those that exist
/// at the border; u in voxels, in host memory.
inline double smallest_corner_jacobian(const FieldView<const float>& u, const int (&at)[3]) {
  Eigen::Vector3d d[3][2];
  for (int a = 0; a < 3; ++a) {
    const bool before = at[a] > 0, after = at[a] + 1 < u.extent[a];
    d[a][0] = derivative_on_host(u, at, a, before, !before && after);
    d[a][1] = derivative_on_host(u, at, a, !after && before, after);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Eigen::Vector3d& y : d[1])
    for (const Eigen::Vector3d& z : d[2]) {
      const Eigen::Vector3d across = y.cross(z);
      for (const Eigen::Vector3d& x : d[0]) least = std::min(least, x.dot(across));
    }
  return least;
}

}  // namespace freeflow
