// Private: a field between its voxels, in double on the host.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow {

/// The eight voxels around a position in voxels; beyond the grid those around the nearest place on
/// it.
struct HostCell {
  std::size_t voxel[8];  // bit a of the number: the upper one along axis a
  double along[3];       // how far the position lies beyond the lower ones
  bool constant[3];      // along the axis, as beyond the grid

  HostCell(Extent extent, const Eigen::Vector3d& p) {
    int low[3], step[3];
    for (int a = 0; a < 3; ++a) {
      const int n = extent[a];
      const double c = std::clamp(p[a], 0.0, double(n - 1));
      low[a] = std::clamp(int(c), 0, std::max(n - 2, 0));
      step[a] = n > 1 ? 1 : 0;
      along[a] = c - low[a];
      constant[a] = c != p[a] || n == 1;
    }
    for (int corner = 0; corner < 8; ++corner)
      voxel[corner] =
          extent.offset(low[0] + (corner & 1) * step[0], low[1] + (corner >> 1 & 1) * step[1],
                        low[2] + (corner >> 2) * step[2]);
  }
  double weight(int corner, int axis) const {
    return corner >> axis & 1 ? along[axis] : 1 - along[axis];
  }
};

inline Eigen::Vector3d vector_on_host(FieldView<const float> u, std::size_t voxel) {
  const std::size_t n = u.extent.count();
  return {u.data[voxel], u.data[voxel + n], u.data[voxel + 2 * n]};
}

/// Trilinear value in a cell of the field's grid, in the unit of the field.
inline Eigen::Vector3d sample_on_host(FieldView<const float> u, const HostCell& cell) {
  Eigen::Vector3d value = Eigen::Vector3d::Zero();
  for (int corner = 0; corner < 8; ++corner)
    value += cell.weight(corner, 0) * cell.weight(corner, 1) * cell.weight(corner, 2) *
             vector_on_host(u, cell.voxel[corner]);
  return value;
}

/// The same at a position in voxels; the field goes on beyond its grid with its border's values.
inline Eigen::Vector3d sample_on_host(FieldView<const float> u, const Eigen::Vector3d& p) {
  return sample_on_host(u, HostCell(u.extent, p));
}

/// Derivative of the value by the position in voxels, one axis a column; on a face between voxels
/// that of one side.
inline Eigen::Matrix3d gradient_on_host(FieldView<const float> u, const HostCell& cell) {
  Eigen::Matrix3d gradient = Eigen::Matrix3d::Zero();
  for (int corner = 0; corner < 8; ++corner) {
    const Eigen::Vector3d vector = vector_on_host(u, cell.voxel[corner]);
    for (int a = 0; a < 3; ++a) {
      const double others = cell.weight(corner, (a + 1) % 3) * cell.weight(corner, (a + 2) % 3);
      if (!cell.constant[a]) gradient.col(a) += (corner >> a & 1 ? others : -others) * vector;
    }
  }
  return gradient;
}

}  // namespace freeflow
