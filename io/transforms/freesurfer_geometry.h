// Private to io/transforms: where FreeSurfer says that a volume lies.
#pragma once

#include <Eigen/Geometry>

#include <freeflow/core/geometry.h>

namespace freeflow {

/// VOL_GEOM: the centre is voxel `size` / 2.
struct FreeSurferGeometry {
  bool valid = false;
  Eigen::Vector3i size = {256, 256, 256};
  Eigen::Vector3d spacing = Eigen::Vector3d::Ones();
  Eigen::Matrix3d axes_ras = Eigen::Matrix3d::Identity();  // a column per axis
  Eigen::Vector3d center_ras = Eigen::Vector3d::Zero();

  Eigen::Affine3d index_to_ras() const {
    Eigen::Affine3d map;
    map.linear() = axes_ras * spacing.asDiagonal();
    map.translation() = center_ras - map.linear() * (0.5 * size.cast<double>());
    return map;
  }

  static FreeSurferGeometry of(const Geometry& grid) {
    FreeSurferGeometry g;
    g.valid = true;
    g.size = {grid.extent.x, grid.extent.y, grid.extent.z};
    g.spacing = grid.spacing;
    g.axes_ras = grid.direction;
    g.axes_ras.topRows<2>() *= -1;
    g.center_ras = grid.index_to_world() * (0.5 * g.size.cast<double>());
    g.center_ras.head<2>() *= -1;
    return g;
  }
};

}  // namespace freeflow
