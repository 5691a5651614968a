// What a grid's spacing, origin and direction mean, and an image at a point of the world, in
// double.
#pragma once

#include <freeflow/core/geometry.h>

#include "reference/trilinear.h"

namespace freeflow::reference {

inline Eigen::Vector3d world_of(const Geometry& g, const Eigen::Vector3d& voxel) {
  return g.origin + g.direction * g.spacing.cwiseProduct(voxel);
}

inline Eigen::Vector3d index_of(const Geometry& g, const Eigen::Vector3d& point) {
  return (g.direction.transpose() * (point - g.origin)).cwiseQuotient(g.spacing);
}

inline double value_at(const Geometry& g, const std::vector<float>& voxels,
                       const Eigen::Vector3d& point) {
  return trilinear({g.extent, voxels}, index_of(g, point));
}

/// A field of three planes in voxels of its grid, at points of the world in mm along its axes.
class Displacement {
 public:
  Displacement(const Geometry& g, const std::vector<float>& planes) : g_(g) {
    const auto n = std::ptrdiff_t(g.extent.count());
    for (int a = 0; a < 3; ++a)
      planes_[a].assign(planes.begin() + a * n, planes.begin() + (a + 1) * n);
  }
  /// NaN farther than half a voxel from the grid.
  Eigen::Vector3d operator()(const Eigen::Vector3d& point) const {
    Eigen::Vector3d voxels;
    for (int a = 0; a < 3; ++a) voxels[a] = value_at(g_, planes_[a], point);
    return g_.direction * g_.spacing.cwiseProduct(voxels);
  }

 private:
  Geometry g_;
  std::vector<float> planes_[3];
};

}  // namespace freeflow::reference
