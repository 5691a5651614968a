// A group whose mean is known: one image seen through diffeomorphisms whose logarithms sum to zero.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <freeflow/atlas/atlas.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>
#include <support/phantoms.h>

namespace freeflow::test {

/// An egg that shows which way it lies.
inline double group_object(const Eigen::Vector3d& p) {
  const auto ball = [&](double x, double y, double z, double radius) {
    return 1 / (1 + std::exp((p - Eigen::Vector3d(x, y, z)).norm() - radius));
  };
  const double r =
      Eigen::Vector3d(p.x() / 1.15, p.y() / (0.8 + 0.012 * p.x()), p.z() / 0.65).norm();
  return (2 + 0.35 * texture(1.6 * p)) / (1 + std::exp(r - 13)) + 1.5 * ball(8, 0, 2, 3) -
         ball(-7, 3, 0, 3.5) + 1.2 * ball(0, -5, 4, 2);
}

/// Cubes of `side` voxels along 36 mm.
inline Geometry group_grid(int side) {
  Geometry g = plain_geometry({side, side, side}, 36.0 / side);
  g.origin.setConstant(-0.5 * (side - 1) * g.spacing.x());
  return g;
}

inline constexpr double group_amplitude_mm = 1.6;

/// Velocities in voxels that vanish at the border; pairs of opposite sign.
inline std::vector<float> group_velocity(const Geometry& g, int subject,
                                         double amplitude_mm = group_amplitude_mm) {
  const double sign = subject % 2 ? -1 : 1, phase = 1.7 * (subject / 2), n = g.extent.x - 1,
               mm = g.spacing.x();
  return field_planes(g.extent, [&](int x, int y, int z) {
    const auto window = [&](int i) { return std::sin(M_PI * i / n); };
    return Eigen::Vector3d(sign * amplitude_mm / mm * window(x) * window(y) * window(z) *
                           Eigen::Vector3d(std::sin(0.22 * mm * y + phase),
                                           std::cos(0.2 * mm * z + 2 * phase),
                                           std::sin(mm * (0.18 * x - 0.13 * y) + 3 * phase)));
  });
}

inline AtlasSubject group_subject(int number, int side, double amplitude_mm = group_amplitude_mm) {
  Context cpu;
  const Geometry g = group_grid(side);
  const Volume<float> image = sample_world(cpu, g, group_object);
  const DisplacementField u =
      exponential(cpu, DisplacementField(cpu, g, group_velocity(g, number, amplitude_mm)));
  const Volume<float> seen =
      warp(cpu, image, g, Eigen::Affine3d::Identity(), &u, Interpolation::cubic, 0);
  std::string name = "s";
  name += std::to_string(number);
  return {name, g, {seen.to_host(cpu)}, {}};
}

/// With an even number the logarithms sum to zero.
inline std::vector<AtlasSubject> known_group(int subjects, int side = 20) {
  std::vector<AtlasSubject> group;
  for (int i = 0; i < subjects; ++i) group.push_back(group_subject(i, side));
  return group;
}

}  // namespace freeflow::test
