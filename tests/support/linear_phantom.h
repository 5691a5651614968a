// Two images of one head under a known affine.
#pragma once

#include <cmath>
#include <vector>

#include "support/phantoms.h"
#include "support/warped_phantom.h"

namespace freeflow::test {

/// A head that no rotation maps to itself: a textured, lopsided ellipsoid with a nose.
inline double lopsided(const Eigen::Vector3d& p) {
  const Eigen::Vector3d q(p.x() / 0.8, p.y() / 1.15, p.z());
  const double nose = 2 / (1 + std::exp((p - Eigen::Vector3d(4, 26, -6)).norm() - 7));
  return head(q, 24) + nose;
}

struct LinearPhantom {
  Geometry fixed, moving;
  std::vector<float> f, m;
  Eigen::Affine3d truth;

  /// fixed(x) = lopsided(truth(x)), moving(y) = contrast(lopsided(y)).
  explicit LinearPhantom(const Eigen::Affine3d& truth, bool other_contrast = true, double grid = 1)
      : fixed(centred(oblique_geometry({int(40 / grid), int(48 / grid), int(26 / grid)},
                                       grid * Eigen::Vector3d(1.9, 1.8, 2.8)))),
        moving(centred(oblique_geometry({int(44 / grid), int(50 / grid), int(34 / grid)},
                                        grid * Eigen::Vector3d(1.7, 1.7, 2.2)))),
        truth(truth) {
    moving.origin += truth.translation();
    Context cpu;
    const Eigen::Affine3d about = Eigen::Translation3d(-truth.translation()) * truth;
    const Eigen::Vector3d shift = truth.translation();
    f = sample_world(cpu, fixed, [&](const Eigen::Vector3d& p) {
          return lopsided(about * p);
        }).to_host(cpu);
    m = sample_world(cpu, moving, [&](const Eigen::Vector3d& p) {
          const double v = lopsided(p - shift);
          return other_contrast ? 100 * std::exp(-0.4 * v) : v;
        }).to_host(cpu);
  }

  /// Mean distance in mm between a transform and the truth over the head.
  double error(const Eigen::Affine3d& found) const {
    double sum = 0, count = 0;
    for (int z = -20; z <= 20; z += 5)
      for (int y = -20; y <= 20; y += 5)
        for (int x = -20; x <= 20; x += 5) {
          const Eigen::Vector3d p(x, y, z);
          if (p.norm() > 22) continue;
          sum += (found * p - truth * p).norm();
          count += 1;
        }
    return sum / count;
  }
};

}  // namespace freeflow::test
