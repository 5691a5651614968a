// Where a grid lies in the world: ITK's convention, millimetres, LPS axes.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include <freeflow/core/views.h>

namespace freeflow {

/// A regular grid. Voxel (i, j, k) has its centre at origin + direction * (spacing .* (i, j, k)).
struct Geometry {
  Extent extent;
  Eigen::Vector3d spacing = Eigen::Vector3d::Ones();
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  Eigen::Matrix3d direction = Eigen::Matrix3d::Identity();
  /// Which world that is, by NIfTI's codes: 1 the scanner's, 2 another image's, 3 Talairach's, 4
  /// MNI 152's, 0 undeclared. Images carry it to what is made on their grid; of use to FSL alone.
  int space_code = 1;

  /// Maps voxel indices (continuous) to world millimetres.
  Eigen::Affine3d index_to_world() const;
  Eigen::Affine3d world_to_index() const;
  /// World position of the middle of the grid.
  Eigen::Vector3d center() const;
  /// Throws InvalidArgument when a size or spacing is not positive, a number is not finite, the
  /// direction is not orthonormal (to 1e-4) or there are too many voxels (most_voxels.h).
  void validate(const char* what) const;
};

/// True when both have the same extent and lie within 1e-3 voxel of each other everywhere.
bool same_grid(const Geometry& a, const Geometry& b);

/// The affine as a kernel takes it.
PointMap to_point_map(const Eigen::Affine3d& affine);

/// Maps fixed voxel indices to moving voxel indices through a world transform (fixed point to
/// moving point). The identity, without the rounding of a way through the world, where the
/// transform is the identity and both grids lie alike.
class IndexMaps {
 public:
  IndexMaps(const Geometry& fixed, const Geometry& moving);
  PointMap of(const Eigen::Affine3d& world_transform) const;

 private:
  Eigen::Affine3d to_world_, to_index_;
  bool same_axes_;
};
/// The one for a single transform.
inline PointMap index_map(const Geometry& fixed, const Eigen::Affine3d& world_transform,
                          const Geometry& moving) {
  return IndexMaps(fixed, moving).of(world_transform);
}

}  // namespace freeflow
