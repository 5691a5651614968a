// What the loop over levels that all nonrigid models share hands out and counts, on every device.
#include <freeflow/registration/levels/level_loop.h>

#include <cmath>

#include <freeflow/deform/field_operations.h>
#include <freeflow/registration/levels/inverse.h>

#include "support/devices.h"
#include "support/registrations.h"

namespace freeflow {
namespace {

using namespace test;

class Levels : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Levels);

struct Shown : Observer {
  void on_displacement(Context& ctx, const DisplacementField& u) override {
    grid = u.geometry();
    voxels = u.to_host(ctx);
  }
  Geometry grid;
  std::vector<float> voxels;
};

/// Stores the fixed image from its other end along x and y.
void store_backwards(Phantom& p) {
  const Extent n = p.fixed.extent;
  const std::vector<float> in = p.f;
  p.f =
      voxelwise(n, [&](int x, int y, int z) { return in[n.offset(n.x - 1 - x, n.y - 1 - y, z)]; });
  p.fixed.origin = p.fixed.index_to_world() * Eigen::Vector3d(n.x - 1, n.y - 1, 0);
  p.fixed.direction.leftCols<2>() *= -1;
}

TEST_P(Levels, TheDisplacementIsShownAsItIsReturned) {
  Phantom p = usual_phantom(false);
  FlowOptions flow = two_levels<FlowOptions>();
  flow.iterations = {3, 1};
  for (const bool otherwise : {false, true}) {
    if (otherwise) store_backwards(p);
    Shown shown;
    const RegistrationResult r = run(ctx, p, flow, {}, &shown);
    EXPECT_EQ(canonical_order(p.fixed).as_stored(), otherwise);
    EXPECT_EQ(shown.grid.origin, p.fixed.origin);
    EXPECT_EQ(shown.grid.direction, p.fixed.direction);
    EXPECT_EQ(shown.voxels, r.displacement.to_host(ctx));
  }
}

TEST_P(Levels, AStartThatScalesThinsTheMovingImageAsItsVoxelsAreSeen) {
  const Phantom p = usual_phantom(false);
  Phantom larger = p;  // four times, which changes no bit
  larger.moving.spacing *= 4;
  larger.moving.origin *= 4;
  FlowOptions flow = two_levels<FlowOptions>();
  const RegistrationResult plain = run(ctx, p, flow);
  flow.initial = Eigen::Affine3d(Eigen::Scaling(4.0));
  EXPECT_EQ(run(ctx, larger, flow).displacement.to_host(ctx), plain.displacement.to_host(ctx));
}

TEST_P(Levels, TheOverlapAtTheStartIsThatOfTheDisplacementToStartFrom) {
  const Phantom p = usual_phantom(false);
  FlowOptions flow = two_levels<FlowOptions>();
  flow.iterations = {0};
  const double aside = 0.4 * p.fixed.extent.x;  // voxels
  std::vector<float> u(3 * p.fixed.extent.count());
  std::fill_n(u.begin(), p.fixed.extent.count(), float(aside));
  const DisplacementField start(ctx, p.fixed, u);
  const double without = run(ctx, p, flow).overlap_before;
  flow.initial_displacement = &start;
  const double with = run(ctx, p, flow).overlap_before;
  EXPECT_LT(with, without - 0.2);
  flow.initial_displacement = nullptr;
  flow.initial.translation() = p.fixed.direction.col(0) * p.fixed.spacing.x() * aside;
  EXPECT_NEAR(run(ctx, p, flow).overlap_before, with, 0.01) << "the same shift as an affine map";
}

/// A twist folds nowhere, but beyond the content its values at the border go on: where it turns by
/// more than a right angle, they turn a line over.
TEST_P(Levels, BeyondTheContentNothingFolds) {
  Geometry g = plain_geometry({48, 48, 24}, 2);
  g.origin = -g.center();
  const Volume<float> image = sample_world(
      ctx, g, [](const Eigen::Vector3d& p) { return p.norm() < 14 ? 10 + p.x() : 0.0; });
  PreparedImage fixed(image.clone(ctx)), moving(image.clone(ctx));
  PreparedImage& content = fixed.content(ctx);
  const Geometry& box = content.geometry();
  ASSERT_LT(box.extent.x, g.extent.x);
  const Eigen::Vector3d on_border =
      g.world_to_index() * box.index_to_world() * Eigen::Vector3d(box.extent.x - 1, 0, 0);
  std::vector<float> u;
  for (int c = 0; c < 3; ++c) {
    const std::vector<float> one = voxelwise(g.extent, [&](int x, int y, int z) {
      const Eigen::Vector3d from(x - on_border.x(), y - 24, 0), across(0, 0, z - 12);
      const double angle = 1.9 * std::exp(-(from.squaredNorm() + across.squaredNorm()) / 18);
      return (Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()) * from - from)[c];
    });
    u.insert(u.end(), one.begin(), one.end());
  }
  const DisplacementField start(ctx, g, u);
  FlowOptions flow;
  flow.levels = 1;
  flow.iterations = {0};
  flow.initial_displacement = &start;
  const RegistrationResult r = register_flow(ctx, content, moving, flow);
  EXPECT_EQ(r.displacement.extent(), g.extent);
  EXPECT_GT(r.unfolding.voxels_before, 0);
  EXPECT_EQ(r.unfolding.voxels_after, 0);
  EXPECT_GT(jacobian_statistics(ctx, r.displacement).corner_min, 0);
}

/// A smooth displacement of up to 1.5 voxels on a grid whose axes run along z, x and y, one of them
/// backwards, with a velocity that says nothing of it.
RegistrationResult unfolded_result(Context& ctx) {
  Geometry grid = plain_geometry({20, 24, 28});
  grid.direction << 0, 1, 0, 0, 0, -1, 1, 0, 0;
  const Extent n = grid.extent;
  std::vector<float> u;
  for (int c = 0; c < 3; ++c) {
    const std::vector<float> one = voxelwise(n, [&](int x, int y, int z) {
      return (1.5 - 0.3 * c) * std::sin(0.3 * x + 0.1 * c) * std::sin(0.25 * y + c) *
             std::cos(0.2 * z - c);
    });
    u.insert(u.end(), one.begin(), one.end());
  }
  RegistrationResult result;
  result.displacement = DisplacementField(ctx, grid, u);
  result.velocity = DisplacementField(ctx, grid, std::vector<float>(u.size()));
  return result;
}

TEST_P(Levels, WhatWasUnfoldedIsInvertedItselfAndNotByItsVelocity) {
  const auto residual = [&](bool symmetric, int rounds) {
    RegistrationResult result = unfolded_result(ctx);
    result.unfolding.rounds = rounds;
    add_inverse(ctx, result, symmetric);
    return inverse_residual(ctx, result.displacement, result.inverse->field).mean_voxels;
  };
  EXPECT_GT(residual(true, 0), 0.3) << "the velocity's, which is nothing";
  EXPECT_LT(residual(true, 1), 0.02);
  EXPECT_LT(residual(false, 0), 0.02);
}

}  // namespace
}  // namespace freeflow
