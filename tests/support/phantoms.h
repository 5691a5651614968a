// Images and deformations with known properties.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow::test {

/// A grid with its own spacing, origin and oblique axes.
inline Geometry oblique_geometry(Extent extent, const Eigen::Vector3d& spacing = {1.2, 0.9, 2.5}) {
  Geometry g;
  g.extent = extent;
  g.spacing = spacing;
  g.origin = {-31.5, 12.25, 7.75};
  g.direction = (Eigen::AngleAxisd(0.4, Eigen::Vector3d::UnitZ()) *
                 Eigen::AngleAxisd(-0.25, Eigen::Vector3d::UnitX()))
                    .toRotationMatrix();
  return g;
}

inline Geometry plain_geometry(Extent extent, double spacing = 1) {
  Geometry g;
  g.extent = extent;
  g.spacing = Eigen::Vector3d::Constant(spacing);
  return g;
}

template <class F>
std::vector<float> voxelwise(Extent n, F&& f) {
  std::vector<float> values;
  values.reserve(n.count());
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) values.push_back(float(f(x, y, z)));
  return values;
}

inline std::vector<float> random_values(std::size_t count, unsigned seed, float low = 0,
                                        float high = 1) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& v : values) v = low + (high - low) * float(generator()) / 4294967296.0f;
  return values;
}

/// A smooth texture of a world point, wavelengths of 15 to 40 mm, in about [-2, 2].
inline double texture(const Eigen::Vector3d& p) {
  return std::sin(0.21 * p.x() + 0.3) * std::cos(0.17 * p.y()) +
         0.7 * std::sin(0.29 * p.z() + 0.11 * p.x()) + 0.4 * std::cos(0.4 * p.y() - 0.2 * p.z());
}

/// A textured ball of the given radius about the world origin; 0 outside.
inline double head(const Eigen::Vector3d& p, double radius) {
  const double edge = 1 / (1 + std::exp(p.norm() - radius));
  return edge * (2.5 + texture(p));
}

template <class F>
Volume<float> sample_world(Context& ctx, const Geometry& g, F&& f) {
  const Eigen::Affine3d to_world = g.index_to_world();
  return Volume<float>(ctx, g, voxelwise(g.extent, [&](int x, int y, int z) {
                         return f(Eigen::Vector3d(to_world * Eigen::Vector3d(x, y, z)));
                       }));
}

/// Planes of a field from a function of the voxel that returns an Eigen::Vector3d in voxels.
template <class F>
std::vector<float> field_planes(Extent n, F&& f) {
  std::vector<float> planes(3 * n.count());
  std::size_t i = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i) {
        const Eigen::Vector3d u = f(x, y, z);
        for (int c = 0; c < 3; ++c) planes[c * n.count() + i] = float(u[c]);
      }
  return planes;
}

/// A smooth displacement (voxels) of at most about `amplitude` per axis; the constants keep samples
/// off the voxel centres, where a trilinear image has no derivative.
inline Eigen::Vector3d wave(int x, int y, int z, double amplitude) {
  return amplitude * Eigen::Vector3d(0.0371 + std::sin(0.13 * x + 0.21 * y),
                                     0.0713 + std::cos(0.17 * y - 0.1 * z),
                                     0.0497 + std::sin(0.19 * z + 0.07 * x + 0.5));
}

}  // namespace freeflow::test
