// The field's own figures, against fields whose Jacobian is known.
#include <freeflow/evaluation/field_quality.h>

#include <gtest/gtest.h>

#include <cmath>

#include <freeflow/deform/field_operations.h>

#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

template <class F>
DisplacementField field(Context& ctx, const Geometry& g, F&& f) {
  return DisplacementField(ctx, g, field_planes(g.extent, f));
}

TEST(FieldQuality, OfALinearFieldIsItsDeterminant) {
  Context cpu;
  const Geometry g = oblique_geometry({12, 10, 9});
  Eigen::Matrix3d slope;
  slope << 0.25, 0.125, 0, -0.0625, 0.5, 0.125, 0, 0.25, -0.25;
  const DisplacementField u = field(cpu, g, [&](int x, int y, int z) -> Eigen::Vector3d {
    return slope * Eigen::Vector3d(x, y, z);
  });
  const FieldQuality q = field_quality(cpu, u);
  const double j = (Eigen::Matrix3d::Identity() + slope).determinant();
  EXPECT_EQ(q.voxels, g.extent.count());
  EXPECT_EQ(q.inner_voxels, 10u * 8 * 7);
  EXPECT_EQ(q.folded_voxels + q.corner_folds, 0u);
  EXPECT_NEAR(q.jacobian_min, j, 1e-12) << "one-sided at the border";
  EXPECT_NEAR(q.jacobian_max, j, 1e-12);
  EXPECT_NEAR(q.corner_jacobian_min, j, 1e-12);
  EXPECT_NEAR(q.mean_log_jacobian, std::log(j), 1e-12);
  EXPECT_NEAR(q.sd_log_jacobian, 0, 1e-12);
  double longest = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const Eigen::Vector3d at(corner & 1 ? 11 : 0, corner & 2 ? 9 : 0, corner & 4 ? 8 : 0);
    longest = std::max(longest, g.spacing.cwiseProduct(slope * at).norm());
  }
  EXPECT_NEAR(q.max_mm, longest, 1e-12);
}

TEST(FieldQuality, CornersSeeTheFoldThatCentralDifferencesJumpOver) {
  Context cpu;
  const Geometry g = plain_geometry({9, 9, 9});
  // One voxel passes its right-hand neighbour; those on both sides of it stand still.
  const DisplacementField u = field(cpu, g, [](int x, int y, int z) {
    return Eigen::Vector3d(x == 4 && y == 4 && z == 4 ? 1.5 : 0, 0, 0);
  });
  const FieldQuality q = field_quality(cpu, u);
  EXPECT_EQ(q.folded_voxels, 0u);
  EXPECT_NEAR(q.jacobian_min, 0.25, 1e-12) << "of the right-hand neighbour: 1 - 1.5 / 2";
  EXPECT_NEAR(q.jacobian_max, 1.75, 1e-12);
  EXPECT_EQ(q.corner_folds, 2u) << "the voxel, and the one that it passes";
  EXPECT_NEAR(q.corner_jacobian_min, -0.5, 1e-12);
  EXPECT_NEAR(q.mean_mm, 1.5 / 729, 1e-12);
  // A fold of central differences.
  const FieldQuality f = field_quality(
      cpu, field(cpu, g, [](int x, int, int) { return Eigen::Vector3d(x < 5 ? 0 : -3, 0, 0); }));
  EXPECT_EQ(f.folded_voxels, 2u * 81);
  EXPECT_NEAR(f.jacobian_min, -0.5, 1e-12);
}

TEST(FieldQuality, WhatIsPressedFlatFolds) {
  Context cpu;
  const Geometry g = plain_geometry({9, 8, 7});
  const FieldQuality q =
      field_quality(cpu, field(cpu, g, [](int x, int, int) { return Eigen::Vector3d(-x, 0, 0); }));
  EXPECT_EQ(q.jacobian_max, 0);
  EXPECT_EQ(q.folded_voxels, g.extent.count());
  EXPECT_EQ(q.corner_folds, q.inner_voxels);
}

TEST(FieldQuality, CountsOnlyWhereTheMaskIsAboveAHalf) {
  Context cpu;
  const Geometry g = plain_geometry({9, 9, 9});
  const DisplacementField u = field(cpu, g, [](int x, int y, int z) {
    return Eigen::Vector3d(x == 4 && y == 4 && z == 4 ? 1.5 : 0, 0, 0);
  });
  std::vector<float> inside(g.extent.count(), 0.5f);  // as registrations do
  inside[g.extent.offset(0, 0, 0)] = 0.75f;
  inside[g.extent.offset(4, 4, 4)] = 3;
  const Volume<float> mask(cpu, g, inside);
  const FieldQuality q = field_quality(cpu, u, &mask);
  EXPECT_EQ(q.voxels, 2u);
  EXPECT_EQ(q.inner_voxels, 1u);
  EXPECT_EQ(q.corner_folds, 1u);
  EXPECT_NEAR(q.mean_mm, 0.75, 1e-12);
  const Volume<float> none(cpu, g, std::vector<float>(g.extent.count()));
  EXPECT_EQ(field_quality(cpu, u, &none).voxels, 0u);
  EXPECT_TRUE(std::isnan(field_quality(cpu, u, &none).jacobian_min));
  const Volume<float> other(cpu, plain_geometry({9, 9, 8}), std::vector<float>(9 * 9 * 8, 1.0f));
  EXPECT_THROW(field_quality(cpu, u, &other), InvalidArgument);
}

TEST(FieldQuality, TakesThinGridsAndRefusesNumbersThatAreNone) {
  Context cpu;
  const Geometry g = plain_geometry({5, 4, 1});
  DisplacementField u =
      field(cpu, g, [](int x, int, int) { return Eigen::Vector3d(0.5 * x, 0, 0); });
  const FieldQuality q = field_quality(cpu, u);
  EXPECT_NEAR(q.jacobian_min, 1.5, 1e-12);
  EXPECT_EQ(q.inner_voxels, 0u);
  EXPECT_TRUE(std::isnan(q.corner_jacobian_min));
  EXPECT_TRUE(std::isnan(inverse_quality(cpu, u, u).mean_voxels)) << "nothing lies inside";
  EXPECT_THROW(inverse_quality(cpu, u, u, -1), InvalidArgument);
  EXPECT_TRUE(std::isnan(inverse_quality(cpu, DisplacementField(), u).mean_voxels));
  EXPECT_THROW(inverse_quality(cpu,
                               field(cpu, plain_geometry({9, 9, 9}),
                                     [](int, int, int) { return Eigen::Vector3d(0, 0, 0); }),
                               DisplacementField()),
               InvalidArgument);
  u.view().data[3] = NAN;
  EXPECT_THROW(field_quality(cpu, u), InvalidArgument);
  EXPECT_THROW(inverse_quality(cpu, u, u), InvalidArgument);
}

TEST(FieldQuality, HasTheSameBitsForAnyNumberOfThreads) {
  const Geometry g = oblique_geometry({30, 20, 25});
  Context one({}, 1), four({}, 4);
  const DisplacementField u = field(one, g, [](int x, int y, int z) {
    return Eigen::Vector3d(std::sin(0.4 * x), std::sin(0.3 * y + x), std::cos(0.5 * z));
  });
  const FieldQuality a = field_quality(one, u), b = field_quality(four, u);
  EXPECT_EQ(a.mean_log_jacobian, b.mean_log_jacobian);
  EXPECT_EQ(a.sd_log_jacobian, b.sd_log_jacobian);
  EXPECT_EQ(a.mean_mm, b.mean_mm);
  EXPECT_EQ(inverse_quality(one, u, u).mean_voxels, inverse_quality(four, u, u).mean_voxels);
  const JacobianStatistics in_float = jacobian_statistics(one, u);
  EXPECT_NEAR(a.jacobian_min, in_float.min, 1e-5);
  EXPECT_NEAR(a.sd_log_jacobian, in_float.sd_log, 1e-5);
  EXPECT_LE(in_float.corner_min, a.corner_jacobian_min + 1e-5) << "the border counts there, too";
  EXPECT_GE(in_float.folded_voxels, a.corner_folds);
}

TEST(InverseQuality, MeasuresWhatIsLeftInVoxelsOfTheFirstGrid) {
  Context cpu;
  Geometry g = oblique_geometry({20, 18, 16}, {1, 2, 2.5});
  const DisplacementField u = field(cpu, g, [](int, int, int) { return Eigen::Vector3d(1, 0, 0); });
  // The inverse on a grid of its own that reaches farther: half a millimetre is missing.
  Geometry wide = g;
  wide.extent = {40, 36, 32};
  wide.spacing /= 2;
  const DisplacementField v =
      field(cpu, wide, [](int, int, int) { return Eigen::Vector3d(-1, 0, 0); });
  const InverseQuality q = inverse_quality(cpu, u, v);
  EXPECT_EQ(q.voxels, 12u * 10 * 8);
  EXPECT_NEAR(q.mean_voxels, 0.5, 1e-6);
  EXPECT_NEAR(q.p99_voxels, 0.5, 1e-6);
  EXPECT_NEAR(q.max_voxels, 0.5, 1e-6);
  EXPECT_EQ(inverse_quality(cpu, u, v, 0).voxels, g.extent.count());
}

TEST(InverseQuality, OfResidualsThatDifferIsTheirMeanPercentileAndLargest) {
  Context cpu;
  const Geometry g = plain_geometry({101, 3, 2});
  const DisplacementField u = field(
                              cpu, g,
                              [](int x, int, int) { return Eigen::Vector3d(0, 0, 0.125 * x * x); }),
                          none =
                              field(cpu, g, [](int, int, int) { return Eigen::Vector3d(0, 0, 0); });
  const InverseQuality q = inverse_quality(cpu, u, none, 0);
  EXPECT_NEAR(q.mean_voxels, 0.125 * 100 * 101 * 201 / 6 / 101, 1e-9);
  EXPECT_NEAR(q.max_voxels, 1250, 1e-9);
  EXPECT_NEAR(q.p99_voxels, 0.125 * 99 * 99, 1e-9) << "rank 598.95 of 605, of which six have each";
}

TEST(InverseQuality, IsOfNothingWhereTheMarginLeavesNoSlice) {
  Context cpu;
  for (const int slices : {5, 8}) {
    const DisplacementField u = field(cpu, plain_geometry({20, 18, slices}),
                                      [](int, int, int) { return Eigen::Vector3d(1, 0, 0); });
    const InverseQuality q = inverse_quality(cpu, u, u);
    EXPECT_EQ(q.voxels, 0u);
    EXPECT_TRUE(std::isnan(q.mean_voxels));
  }
}

TEST(InverseQuality, CountsTheVoxelsOfTheMaskAlone) {
  Context cpu;
  const Geometry g = plain_geometry({20, 18, 16});
  const DisplacementField u =
      field(cpu, g, [](int x, int, int) { return Eigen::Vector3d(0, x < 10 ? 0.25 : 1, 0); });
  const DisplacementField none =
      field(cpu, g, [](int, int, int) { return Eigen::Vector3d(0, 0, 0); });
  EXPECT_NEAR(inverse_quality(cpu, u, none).mean_voxels, 0.625, 1e-6);
  std::vector<float> left(g.extent.count());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i % 20 < 10 ? 0.7F : 0.5F;
  const Volume<float> mask(cpu, g, left);
  const InverseQuality q = inverse_quality(cpu, u, none, 4, &mask);
  EXPECT_EQ(q.voxels, 6u * 10 * 8);
  EXPECT_NEAR(q.mean_voxels, 0.25, 1e-6);
  EXPECT_NEAR(q.p99_voxels, 0.25, 1e-6);
  EXPECT_NEAR(q.max_voxels, 0.25, 1e-6);
  const Volume<float> empty(cpu, g, std::vector<float>(left.size()));
  EXPECT_TRUE(std::isnan(inverse_quality(cpu, u, none, 4, &empty).max_voxels));
  const Geometry other = plain_geometry({20, 18, 15});
  const Volume<float> elsewhere(cpu, other, std::vector<float>(other.extent.count(), 1));
  EXPECT_THROW(inverse_quality(cpu, u, none, 4, &elsewhere), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
