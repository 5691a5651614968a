// A pair of images with a known deformation between them, for whole registrations.
#pragma once

#include <freeflow/deform/storage_order.h>

#include "support/phantoms.h"

namespace freeflow::test {

/// The true displacement in mm at a world point: smooth, up to about 4 mm.
inline Eigen::Vector3d true_displacement(const Eigen::Vector3d& p) {
  return {3.5 * std::sin(0.07 * p.y() + 0.4), 3 * std::cos(0.06 * p.z() + 0.05 * p.x()),
          2.5 * std::sin(0.08 * p.x() - 0.3)};
}

struct Phantom {
  Geometry fixed, moving;
  std::vector<float> f, m;

  /// fixed(x) = head(x + u(x)), moving(y) = contrast(head(y)): the sought displacement is u.
  Phantom(const Geometry& fixed, const Geometry& moving, bool other_contrast)
      : fixed(fixed), moving(moving) {
    Context cpu;
    f = sample_world(cpu, fixed, [](const Eigen::Vector3d& p) {
          return head(p + true_displacement(p), 26);
        }).to_host(cpu);
    m = sample_world(cpu, moving, [&](const Eigen::Vector3d& p) {
          const double v = head(p, 26);
          return other_contrast ? 100 * std::exp(-0.4 * v) : v;
        }).to_host(cpu);
  }

  /// Mean error in mm inside the head.
  double error(Context& ctx, const DisplacementField& u) const {
    const std::vector<float> planes = u.to_host(ctx);
    const Eigen::Affine3d world = fixed.index_to_world();
    const Extent n = fixed.extent;
    double sum = 0, count = 0;
    std::size_t i = 0;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x, ++i) {
          const Eigen::Vector3d p = world * Eigen::Vector3d(x, y, z);
          if (p.norm() > 22) continue;
          const Eigen::Vector3d voxels(planes[i], planes[i + n.count()], planes[i + 2 * n.count()]);
          sum += (world.linear() * voxels - true_displacement(p)).norm();
          count += 1;
        }
    return sum / count;
  }
  double error_before() const {
    Context cpu;
    DisplacementField zero(cpu, fixed);
    zero.fill_zero(cpu);
    return error(cpu, zero);
  }
};

/// On a fixed grid in canonical order, where what registers and what is returned is one field.
inline Phantom in_order(const Phantom& p, bool other_contrast) {
  return Phantom(ordered(p.fixed, canonical_order(p.fixed)), p.moving, other_contrast);
}

inline Geometry centred(Geometry g) {
  g.origin = Eigen::Vector3d::Zero();
  g.origin = -g.center();
  return g;
}

inline Phantom usual_phantom(bool other_contrast = true) {
  return Phantom(centred(oblique_geometry({40, 44, 24}, {1.5, 1.4, 2.6})),
                 centred(oblique_geometry({52, 50, 30}, {1.3, 1.3, 2.4})), other_contrast);
}

}  // namespace freeflow::test
