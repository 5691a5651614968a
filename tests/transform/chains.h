// Chains of affines and fields, and points to send through them.
#pragma once

#include <freeflow/transform/transform.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/warped_phantom.h"

namespace freeflow::test {

class ChainsOnDevice : public OnDevice {
 protected:
  /// A smooth displacement on a grid.
  DisplacementField waves(const Geometry& g, double amplitude) {
    return DisplacementField(ctx, g, field_planes(g.extent, [&](int x, int y, int z) {
                               return wave(x, y, z, amplitude);
                             }));
  }
  /// Two affines and two fields on grids that differ in every way.
  Transform chain() {
    Transform t(affine(20, {3, -2, 1}));
    t.then(waves(centred(oblique_geometry({40, 36, 30}, {1.5, 1.4, 2})), 1.2));
    t.then(affine(-8, {-4, 5, 2}));
    t.then(waves(centred(oblique_geometry({30, 34, 28}, {2, 1.8, 1.9})), 0.8));
    return t.then(affine(5, {1, 1, -2}));
  }
  static Eigen::Affine3d affine(double degrees, const Eigen::Vector3d& shift) {
    Eigen::Affine3d a = Eigen::Affine3d::Identity();
    a.linear() = Eigen::AngleAxisd(degrees * EIGEN_PI / 180, Eigen::Vector3d(1, 2, -2).normalized())
                     .toRotationMatrix() *
                 Eigen::DiagonalMatrix<double, 3>(1.05, 0.97, 1.1);
    a.translation() = shift;
    return a;
  }
};

inline std::vector<Eigen::Vector3d> points_of(const Geometry& g) {
  std::vector<Eigen::Vector3d> points;
  const Eigen::Affine3d world = g.index_to_world();
  for (int z = 2; z < g.extent.z - 2; z += 5)
    for (int y = 2; y < g.extent.y - 2; y += 5)
      for (int x = 2; x < g.extent.x - 2; x += 5)
        points.push_back(world * Eigen::Vector3d(x, y, z));
  return points;
}

}  // namespace freeflow::test
