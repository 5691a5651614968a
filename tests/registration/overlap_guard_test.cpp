// Which voxels the guard of the overlap looks at, on every device.
#include <freeflow/registration/linear/overlap_guard.h>

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <freeflow/core/spread_stride.h>

#include "support/devices.h"

namespace freeflow {

namespace {

using namespace test;

Geometry unit_grid(Extent extent) {
  Geometry g;
  g.extent = extent;
  return g;
}

/// Values in a box, NaN elsewhere.
Volume<float> values_in(Context& ctx, Extent n, Extent first, Extent last) {
  std::vector<float> voxels(n.count(), std::numeric_limits<float>::quiet_NaN());
  for (int z = first.z; z <= last.z; ++z)
    for (int y = first.y; y <= last.y; ++y)
      for (int x = first.x; x <= last.x; ++x) voxels[n.offset(x, y, z)] = 1;
  return Volume<float>(ctx, unit_grid(n), voxels);
}

class OverlapGuardOf : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(OverlapGuardOf);

TEST_P(OverlapGuardOf, LooksAtAPaddedImageWhateverItsRows) {
  // 35 x 40 x 25 voxels over 1000 points is one of each row; the padding of 4 hides the first.
  const Extent n{35, 40, 25};
  const Volume<float> padded = values_in(ctx, n, {4, 5, 3}, {30, 34, 21});
  const OverlapGuard guard(ctx, padded, values_in(ctx, n, {0, 0, 0}, {34, 39, 24}));
  EXPECT_EQ(guard.overlap(Eigen::Affine3d::Identity()), 1);
  const Eigen::Affine3d half(Eigen::Translation3d(17.5, 0, 0));
  EXPECT_NEAR(guard.overlap(half), 13.0 / 27, 0.03);
}

TEST_P(OverlapGuardOf, LooksAtAllColumnsOfABox) {
  const Extent n{35, 35, 35};  // the box has rows of twice the 12 voxels of a stride
  const Volume<float> part = values_in(ctx, n, {5, 5, 6}, {28, 28, 27});
  const OverlapGuard guard(ctx, part, part);
  for (int axis = 0; axis < 3; ++axis) {
    const Eigen::Affine3d moved(Eigen::Translation3d(Eigen::Vector3d::Unit(axis) * 3));
    EXPECT_NEAR(guard.overlap(moved), axis == 2 ? 19.0 / 22 : 21.0 / 24, 0.04) << axis;
  }
}

TEST_P(OverlapGuardOf, LooksAtAMaskOfFewVoxels) {
  const Extent n{64, 64, 64};
  const OverlapGuard guard(ctx, values_in(ctx, n, {33, 21, 40}, {35, 23, 42}),
                           values_in(ctx, n, {34, 0, 0}, {63, 63, 63}));
  EXPECT_NEAR(guard.overlap(Eigen::Affine3d::Identity()), 18.0 / 27, 1e-12);
}

TEST_P(OverlapGuardOf, KnowsTheSidesOfTheMovingGrid) {
  const Extent n{20, 40, 30};
  const Volume<float> whole = values_in(ctx, n, {0, 0, 0}, {19, 39, 29});
  const OverlapGuard guard(ctx, whole, whole);
  const int sides[3] = {n.x, n.y, n.z};
  for (int axis = 0; axis < 3; ++axis)
    for (const double voxels : {-15.0, -0.45, 0.45, 15.0}) {
      const Eigen::Affine3d moved(Eigen::Translation3d(Eigen::Vector3d::Unit(axis) * voxels));
      const double inside = sides[axis] - std::round(std::abs(voxels));
      EXPECT_NEAR(guard.overlap(moved), inside / sides[axis], std::abs(voxels) < 1 ? 0 : 0.05)
          << axis << ' ' << voxels;
    }
}

TEST_P(OverlapGuardOf, MeasuresTheImagesByTheirVolumes) {
  const Volume<float> fixed = values_in(ctx, {20, 20, 20}, {0, 0, 0}, {19, 19, 9});
  const auto moving = [&](int last) {
    const Volume<float> part = values_in(ctx, {10, 10, 10}, {0, 0, 0}, {9, 9, last});
    Geometry g = part.geometry();
    g.spacing = {2, 2, 3};
    return Volume<float>(ctx, g, part.to_host(ctx));
  };
  const OverlapGuard less(ctx, fixed, moving(3)), more(ctx, fixed, moving(5));
  EXPECT_NEAR(less.measured_ratio(), 400.0 * 12 / 4000, 1e-12);
  EXPECT_TRUE(less.moving_is_masked());
  EXPECT_FALSE(more.moving_is_masked());
}

TEST(SpreadStride, IsInNoStepWithRowsOrSlices) {
  for (const Extent n : {Extent{35, 40, 25}, Extent{160, 192, 224}, Extent{35, 35, 35}}) {
    std::vector<bool> seen(std::size_t(n.x));
    const std::size_t stride = spread_stride(n, n.count(), 1000);
    EXPECT_NEAR(double(stride), double(n.count()) / 1000, 12);
    for (std::size_t i = 0; i < n.count(); i += stride) seen[i % std::size_t(n.x)] = true;
    for (const bool column : seen) EXPECT_TRUE(column);
  }
}

}  // namespace

}  // namespace freeflow
