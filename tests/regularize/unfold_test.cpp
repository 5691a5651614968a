// Unfolding: no corner of a voxel is left folded, little changes, on every device alike.
#include <freeflow/regularize/unfold.h>

#include <freeflow/deform/field_operations.h>
#include <freeflow/evaluation/field_quality.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Unfold : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Unfold);

/// Smooth but for noise of +-amplitude voxels.
DisplacementField rough(Context& ctx, const Geometry& g, float amplitude) {
  std::vector<float> planes =
      field_planes(g.extent, [](int x, int y, int z) { return wave(x, y, z, 2); });
  const std::vector<float> noise = random_values(planes.size(), 3, -amplitude, amplitude);
  for (std::size_t i = 0; i < planes.size(); ++i) planes[i] += noise[i];
  return DisplacementField(ctx, g, planes);
}

void expect_no_folds(Context& ctx, const DisplacementField& u, double bound) {
  const JacobianStatistics s = jacobian_statistics(ctx, u);
  EXPECT_EQ(s.folded_voxels, 0u);
  EXPECT_GE(s.corner_min, bound);
  EXPECT_GE(s.min, bound - float_sum) << "the mean of the corners";
  const FieldQuality q = field_quality(ctx, u);  // written independently, in double
  EXPECT_EQ(q.corner_folds, 0u);
  if (q.inner_voxels > 0) {
    EXPECT_GE(q.corner_jacobian_min, bound - float_sum);
  }
}

TEST_P(Unfold, TakesOutAFoldThatCentralDifferencesDoNotSee) {
  const Geometry g = plain_geometry({9, 9, 9});
  DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int y, int z) {
                        return Eigen::Vector3d(x == 4 && y == 4 && z == 4 ? 1.5 : 0, 0, 0);
                      }));
  ASSERT_GT(jacobian_statistics(ctx, u).min, 0.05);
  const UnfoldResult r = unfold(ctx, u);
  EXPECT_EQ(r.voxels_before, 2u);
  EXPECT_EQ(r.voxels_after, 0u);
  expect_no_folds(ctx, u, UnfoldOptions{}.bound);
}

TEST_P(Unfold, LeavesTheBitsOfAFieldWithoutFolds) {
  const Geometry g = oblique_geometry({33, 29, 17});
  DisplacementField u = rough(ctx, g, 0.02f);
  ASSERT_GT(jacobian_statistics(ctx, u).corner_min, UnfoldOptions{}.bound);
  const std::vector<float> before = u.to_host(ctx);
  EXPECT_EQ(unfold(ctx, u).rounds, 0);
  EXPECT_EQ(u.to_host(ctx), before);
}

TEST_P(Unfold, TouchesNothingFarAway) {
  const Geometry g = plain_geometry({40, 24, 24});
  std::vector<float> planes(3 * g.extent.count(), 0.0f);
  const std::size_t fold = (std::size_t(12) * 24 + 12) * 40 + 8;
  planes[fold] = 4, planes[fold + 1] = -4;
  for (const double bound : {0.05, UnfoldOptions{}.bound}) {
    DisplacementField u(ctx, g, planes);
    const UnfoldResult r = unfold(ctx, u, {bound});
    EXPECT_GT(r.voxels_before, 0u);
    EXPECT_EQ(r.voxels_after, 0u);
    EXPECT_GT(jacobian_statistics(ctx, u).min, bound);
    expect_no_folds(ctx, u, bound);
    const std::vector<float> after = u.to_host(ctx);
    for (std::size_t i = 30; i < after.size(); i += 40) ASSERT_EQ(after[i], 0.0f);
  }
}

TEST_P(Unfold, LeavesNoneInARandomRoughField) {
  for (const Extent n : {Extent{31, 23, 17}, Extent{20, 19, 1}, Extent{1, 9, 8}, Extent{5, 4, 3}}) {
    for (const float amplitude : {0.5f, 1.0f, 5.0f}) {
      DisplacementField u = rough(ctx, plain_geometry(n), amplitude);
      const UnfoldResult r = unfold(ctx, u);
      EXPECT_GT(r.voxels_before, 0u) << n.x << ' ' << amplitude;
      EXPECT_EQ(r.voxels_after, 0u) << n.x << ' ' << amplitude;
      expect_no_folds(ctx, u, UnfoldOptions{}.bound);
    }
  }
}

TEST_P(Unfold, GivesTheSameBitsAsTheCpuForAnyNumberOfThreads) {
  const Geometry g = oblique_geometry({71, 53, 38});  // so many rows that threads share them
  const auto run = [&](Context& c) {
    DisplacementField u = rough(c, g, 0.6f);
    EXPECT_GT(unfold(c, u).rounds, 1);
    return u.to_host(c);
  };
  Context one({}, 1), three({}, 3);
  const std::vector<float> expected = run(one);
  EXPECT_EQ(run(ctx), expected);
  EXPECT_EQ(run(three), expected);
}

TEST_P(Unfold, StopsWhenAskedAndAfterTheRoundsItMayTake) {
  const Geometry g = plain_geometry({33, 29, 17});
  DisplacementField u = rough(ctx, g, 1);
  EXPECT_THROW(unfold(ctx, u, {}, [] { return true; }), Cancelled);
  const UnfoldResult r = unfold(ctx, u, {0.01, 1});
  EXPECT_EQ(r.rounds, 1);
  EXPECT_GT(r.voxels_after, 0u);
}

}  // namespace
}  // namespace freeflow
