// Two images and a displacement between them, and what a measure makes of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <freeflow/similarity/similarity_measure.h>

#include "reference/grid.h"
#include "support/phantoms.h"

namespace freeflow::test {

/// Two images on different oblique grids and a displacement in fixed voxels, on the host.
struct PairScene {
  Geometry fixed, moving;
  std::vector<float> f, m, planes;
  PointMap map;
  /// What `map` is in mm, fixed point to moving point.
  Eigen::Affine3d world = Eigen::Affine3d::Identity();

  explicit PairScene(Extent n = {21, 19, 11}, Extent moving_n = {25, 18, 14}, double frequency = 1,
                     double mean = 3, double contrast = 1)
      : fixed(oblique_geometry(n, {1, 1.2, 2})),
        moving(oblique_geometry(moving_n, {0.9, 1.3, 1.8})),
        map(index_map(fixed, Eigen::Affine3d::Identity(), moving)) {
    Context cpu;
    f = sample_world(cpu, fixed, [&](const Eigen::Vector3d& p) {
          return mean + contrast * texture(frequency * p);
        }).to_host(cpu);
    m = sample_world(cpu, moving, [&](const Eigen::Vector3d& p) {
          return std::exp(0.5 * texture(frequency * p + Eigen::Vector3d(1, 0.5, -1)));
        }).to_host(cpu);
    planes = field_planes(n, [](int x, int y, int z) { return wave(x, y, z, 1.1); });
  }

  /// Maps so many voxels farther along the moving image's first axis.
  void carry(double voxels) {
    map.m[0][3] += float(voxels);
    world = Eigen::Translation3d(moving.direction.col(0) * (moving.spacing.x() * voxels)) * world;
  }

  /// Where a voxel, displaced a little more, lies, in voxels of the moving image.
  Eigen::Vector3d position(std::size_t i,
                           const Eigen::Vector3d& extra = Eigen::Vector3d::Zero()) const {
    const std::size_t n = fixed.extent.count(), row = fixed.extent.x, slice = row * fixed.extent.y;
    const Eigen::Vector3d q =
        Eigen::Vector3d(double(i % row), double(i % slice / row), double(i / slice)) +
        Eigen::Vector3d(planes[i], planes[i + n], planes[i + 2 * n]) + extra;
    // Straight from what spacing, origin and direction mean, not by `map`.
    return reference::index_of(moving, world * reference::world_of(fixed, q));
  }
};

struct Evaluated {
  double cost;
  std::vector<float> force;
};

/// Prepares and evaluates, with the force, without, and with it again: the same each time, without
/// allocating or waiting.
inline Evaluated evaluate(Context& ctx, SimilarityMeasure& measure, const PairScene& s) {
  const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
  measure.read_ranges(ctx, f, m);
  measure.prepare(ctx, {f, m, s.map});
  const DisplacementField u(ctx, s.fixed, s.planes);
  DisplacementField force(ctx, s.fixed), again(ctx, s.fixed);
  Buffer<double> cost(ctx, 3);
  const ContextStatistics before = ctx.statistics();
  measure.evaluate(ctx, u.view(), force.view(), cost.data());
  measure.evaluate(ctx, u.view(), {}, cost.data() + 1);
  measure.evaluate(ctx, u.view(), again.view(), cost.data() + 2);
  EXPECT_EQ(ctx.statistics().allocations, before.allocations);
  EXPECT_EQ(ctx.statistics().synchronizations, before.synchronizations);
  const std::vector<double> costs = cost.to_host(ctx);
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  EXPECT_TRUE(same(costs[0], costs[1]))
      << "the value must not depend on whether the force is asked for";
  EXPECT_TRUE(same(costs[0], costs[2])) << "nor on what was evaluated before";
  const std::vector<float> first = force.to_host(ctx);
  EXPECT_EQ(first, again.to_host(ctx));
  return {costs[0], first};
}

}  // namespace freeflow::test
