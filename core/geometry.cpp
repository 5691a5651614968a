#include <freeflow/core/geometry.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <freeflow/core/error.h>
#include <freeflow/core/most_voxels.h>

namespace freeflow {

Eigen::Affine3d Geometry::index_to_world() const {
  Eigen::Affine3d map;
  map.linear() = direction * spacing.asDiagonal();
  map.translation() = origin;
  return map;
}

Eigen::Affine3d Geometry::world_to_index() const { return index_to_world().inverse(); }

Eigen::Vector3d Geometry::center() const {
  return index_to_world() * (0.5 * Eigen::Vector3d(extent.x - 1, extent.y - 1, extent.z - 1));
}

void Geometry::validate(const char* what) const {
  const std::string name = what;
  require(extent.x > 0 && extent.y > 0 && extent.z > 0, name + " has a side of no voxels");
  const std::int64_t least = std::min({extent.x, extent.y, extent.z}),
                     most = std::max({extent.x, extent.y, extent.z}),
                     between = std::int64_t(extent.x) + extent.y + extent.z - least - most,
                     slice = most * between;
  // The division spares the product of three sides, which might overflow.
  require(least <= most_voxels / slice,
          name + " has more voxels than " + std::to_string(most_voxels) +
              ", which is as far as they are counted; crop or downsample it");
  require(slice <= most_in_slice || slice * least <= INT32_MAX,
          name + " has more than " + std::to_string(most_in_slice) +
              " voxels in a slice, which is as far as rows are numbered; crop or downsample it");
  require(spacing.allFinite() && spacing.minCoeff() > 0,
          name + " has a voxel spacing that is not positive");
  require(origin.allFinite() && direction.allFinite(),
          name + " has an origin or direction that is not finite");
  require((direction.transpose() * direction - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <
              1e-4,
          name + " has a direction matrix that is not orthonormal");
}

bool same_grid(const Geometry& a, const Geometry& b) {
  if (!(a.extent == b.extent)) return false;
  const Eigen::Affine3d difference = b.world_to_index() * a.index_to_world();
  if (!difference.matrix().allFinite()) return false;
  for (int corner = 0; corner < 8; ++corner) {
    const Eigen::Vector3d p((corner & 1) * (a.extent.x - 1), (corner >> 1 & 1) * (a.extent.y - 1),
                            (corner >> 2 & 1) * (a.extent.z - 1));
    if ((difference * p - p).cwiseAbs().maxCoeff() > 1e-3) return false;
  }
  return true;
}

PointMap to_point_map(const Eigen::Affine3d& affine) {
  PointMap map;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      map.m[row][column] = float(affine.matrix()(row, column));
  return map;
}

IndexMaps::IndexMaps(const Geometry& fixed, const Geometry& moving)
    : to_world_(fixed.index_to_world()), to_index_(moving.world_to_index()),
      same_axes_(fixed.spacing == moving.spacing && fixed.origin == moving.origin &&
                 fixed.direction == moving.direction) {}

PointMap IndexMaps::of(const Eigen::Affine3d& world_transform) const {
  if (same_axes_ && world_transform.matrix().isIdentity(0)) return {};
  return to_point_map(to_index_ * world_transform * to_world_);
}

}  // namespace freeflow
