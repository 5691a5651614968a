// Composition, inverse, Jacobian and resampling of dense fields, on every device.
#include <freeflow/deform/field_operations.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Field : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Field);

DisplacementField waves(Context& ctx, const Geometry& g, double amplitude) {
  return DisplacementField(ctx, g, field_planes(g.extent, [&](int x, int y, int z) {
                             return wave(x, y, z, amplitude);
                           }));
}

TEST_P(Field, ComposingTranslationsAddsThem) {
  const Geometry g = oblique_geometry({11, 9, 7});
  const DisplacementField a(
      ctx, g, field_planes(g.extent, [](int, int, int) { return Eigen::Vector3d(1.5, -2, 0.25); }));
  const DisplacementField b(
      ctx, g, field_planes(g.extent, [](int, int, int) { return Eigen::Vector3d(-0.5, 3, 1); }));
  const std::vector<float> sum = compose(ctx, a, b).to_host(ctx);
  for (std::size_t i = 0; i < g.extent.count(); ++i) {
    ASSERT_NEAR(sum[i], 1.0, float_rounding);
    ASSERT_NEAR(sum[i + g.extent.count()], 1.0, float_rounding);
    ASSERT_NEAR(sum[i + 2 * g.extent.count()], 1.25, float_rounding);
  }
}

TEST_P(Field, ComposingLinearFieldsMultipliesTheirMaps) {
  const Geometry g = plain_geometry({15, 15, 15});
  const auto linear = [&](const Eigen::Matrix3d& m) {
    return DisplacementField(ctx, g, field_planes(g.extent, [&](int x, int y, int z) {
                               return Eigen::Vector3d(m * Eigen::Vector3d(x - 7, y - 7, z - 7));
                             }));
  };
  Eigen::Matrix3d a, b;
  a << 0.05, -0.02, 0.01, 0.03, -0.04, 0, 0.02, 0.01, 0.03;
  b << -0.03, 0.02, 0, 0.01, 0.05, -0.02, 0, 0.02, -0.04;
  const Eigen::Matrix3d both =
      (Eigen::Matrix3d::Identity() + b) * (Eigen::Matrix3d::Identity() + a) -
      Eigen::Matrix3d::Identity();
  const std::vector<float> w = compose(ctx, linear(a), linear(b)).to_host(ctx),
                           expected = linear(both).to_host(ctx);
  for (int z = 2; z < 13; ++z)
    for (int y = 2; y < 13; ++y)
      for (int x = 2; x < 13; ++x)
        for (int c = 0; c < 3; ++c) {
          const std::size_t i = (std::size_t(z) * 15 + y) * 15 + x + c * g.extent.count();
          ASSERT_NEAR(w[i], expected[i], float_sum);
        }
}

TEST_P(Field, TheExponentialOfATranslationIsThatAndOfMinusVTheInverse) {
  const Geometry g = plain_geometry({40, 36, 32});
  const DisplacementField shift(
      ctx, g, field_planes(g.extent, [](int, int, int) { return Eigen::Vector3d(1.5, -2, 0.25); }));
  for (int squarings : {0, 5, 8}) {
    const std::vector<float> u = exponential(ctx, shift, squarings).to_host(ctx);
    for (std::size_t i = 0; i < g.extent.count(); ++i) ASSERT_NEAR(u[i], 1.5, float_rounding);
  }
  const InverseResidual r = inverse_residual(ctx, exponential(ctx, waves(ctx, g, 3)),
                                             exponential(ctx, waves(ctx, g, -3)));
  EXPECT_LT(r.mean_voxels, inverse_mean_voxels);
  EXPECT_EQ(exponential(ctx, waves(ctx, g, 3)).to_host(ctx),
            exponential(cpu, waves(cpu, g, 3)).to_host(cpu));
  EXPECT_THROW(exponential(ctx, shift, -1), InvalidArgument);
}

TEST_P(Field, InverseOfALargeSmoothFieldIsMeasuredSmall) {
  const Geometry g = oblique_geometry({48, 44, 40});
  const DisplacementField u = waves(ctx, g, 3.5);
  ASSERT_GT(jacobian_statistics(ctx, u).min, 0.05);
  const Inverse inverse = invert(ctx, u);
  EXPECT_LT(inverse.residual.mean_voxels, inverse_mean_voxels);
  EXPECT_LT(inverse.residual.max_voxels,
            1.0);  // where the map compresses twentyfold the inverse changes too fast for its grid
  const InverseResidual again = inverse_residual(ctx, u, inverse.field);
  EXPECT_EQ(again.mean_voxels, inverse.residual.mean_voxels);
}

TEST_P(Field, InverseConvergesWhereTheFixedPointDoesNot) {
  // A compression by 0.4 along x with a shear of 1.2: the gradient of u is larger than 1, so v <-
  // -u(x + v) diverges off the line y = 10.
  const Geometry g = plain_geometry({41, 21, 21});
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int y, int) {
                              return Eigen::Vector3d(-0.6 * (x - 20) + 1.2 * (y - 10), 0, 0);
                            }));
  InverseOptions exact;
  exact.corrections = 0;
  const Inverse inverse = invert(ctx, u, exact);
  // The inverse on the line y = 10: v = 1.5 (x - 20).
  const std::vector<float> v = inverse.field.to_host(ctx);
  for (int x = 16; x < 25; ++x) EXPECT_NEAR(v[(10 * 21 + 10) * 41 + x], 1.5 * (x - 20), 1e-3);
}

TEST_P(Field, JacobianOfALinearMapIsItsDeterminant) {
  const Geometry g = oblique_geometry({9, 8, 7});
  Eigen::Matrix3d m;
  m << 0.3, -0.2, 0.1, 0.15, -0.25, 0.05, 0.1, 0.2, 0.4;
  const DisplacementField u(ctx, g, field_planes(g.extent, [&](int x, int y, int z) {
                              return Eigen::Vector3d(m * Eigen::Vector3d(x, y, z));
                            }));
  const double det = (Eigen::Matrix3d::Identity() + m).determinant();
  for (float j : jacobian_determinant(ctx, u).to_host(ctx)) ASSERT_NEAR(j, det, float_sum);
  const JacobianStatistics s = jacobian_statistics(ctx, u);
  EXPECT_NEAR(s.min, det, float_sum);
  EXPECT_NEAR(s.max, det, float_sum);
  EXPECT_NEAR(s.mean_log, std::log(det), float_sum);
  EXPECT_NEAR(s.sd_log, 0, 1e-3);
  EXPECT_NEAR(s.corner_min, det, float_sum);
  EXPECT_EQ(s.folded_voxels, 0u);
}

TEST_P(Field, FoldedVoxelsAreCounted) {
  const Geometry g = plain_geometry({8, 4, 4});
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int, int) {
                              return Eigen::Vector3d(-2.0 * x, 0, 0);
                            }));
  EXPECT_EQ(jacobian_statistics(ctx, u).folded_voxels, g.extent.count());
}

/// The smallest determinant at a voxel's corners, in double, by Eigen: every choice of a neighbour
/// per axis among those that exist.
double smallest_corner(const std::vector<float>& u, Extent n, const Eigen::Vector3i& at) {
  const auto vector = [&](const Eigen::Vector3i& p) {
    const std::size_t i = n.offset(p.x(), p.y(), p.z());
    return Eigen::Vector3d(u[i], u[i + n.count()], u[i + 2 * n.count()]);
  };
  double least = INFINITY;
  for (int corner = 0; corner < 8; ++corner) {
    Eigen::Matrix3d d = Eigen::Matrix3d::Identity();
    bool exists = true;
    for (int axis = 0; axis < 3; ++axis) {
      if (n[axis] == 1) continue;  // nothing changes along it
      const int side = corner & (1 << axis) ? 1 : -1;
      Eigen::Vector3i other = at;
      other[axis] += side;
      if (other[axis] < 0 || other[axis] >= n[axis])
        exists = false;
      else
        d.col(axis) += side * (vector(other) - vector(at));
    }
    if (exists) least = std::min(least, d.determinant());
  }
  return least;
}

TEST_P(Field, FoldsAreCountedAtEveryCornerAsAnOracleCountsThem) {
  for (const Extent n : {Extent{61, 47, 33}, Extent{9, 8, 1}, Extent{2, 2, 2}, Extent{1, 7, 1}}) {
    const Geometry g = plain_geometry(n);
    const std::vector<float> planes = random_values(3 * n.count(), 7, -0.45f, 0.45f);
    const JacobianStatistics s = jacobian_statistics(ctx, DisplacementField(ctx, g, planes));
    double least = INFINITY;
    std::size_t folded = 0;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x) {
          const double j = smallest_corner(planes, n, {x, y, z});
          ASSERT_GT(std::abs(j), 1e-7) << "so near 0 that rounding would decide";
          least = std::min(least, j);
          folded += j <= 0;
        }
    EXPECT_EQ(s.folded_voxels, folded);
    EXPECT_NEAR(s.corner_min, least, float_sum);
    EXPECT_LE(s.corner_min, s.min + float_sum) << "central differences are the corners' mean";
  }
}

TEST_P(Field, CornersSeeTheFoldThatCentralDifferencesJumpOver) {
  const Geometry g = plain_geometry({9, 9, 9});
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int y, int z) {
                              return Eigen::Vector3d(x == 4 && y == 4 && z == 4 ? 1.5 : 0, 0, 0);
                            }));
  const JacobianStatistics s = jacobian_statistics(ctx, u);
  EXPECT_NEAR(s.min, 0.25, float_rounding);
  EXPECT_NEAR(s.corner_min, -0.5, float_rounding);
  EXPECT_EQ(s.folded_voxels, 2u) << "the voxel, and the one that it passes";
}

TEST_P(Field, ResamplingOnItsOwnGridKeepsEveryBit) {
  const Geometry g = oblique_geometry({9, 8, 7});
  const std::vector<float> planes = random_values(3 * g.extent.count(), 5);
  EXPECT_EQ(resample(ctx, DisplacementField(ctx, g, planes), g).to_host(ctx), planes);
}

TEST_P(Field, ResamplingKeepsTheWorldDisplacement) {
  const Geometry from = oblique_geometry({20, 18, 16}, {2, 2, 2}), to = [&] {
    Geometry g = plain_geometry({9, 8, 7}, 1.3);
    g.origin = from.center() - Eigen::Vector3d(5, 5, 4);
    return g;
  }();
  const Eigen::Vector3d world(1.5, -2.5, 0.75);
  Eigen::Vector3d voxels = from.direction.transpose() * world / 2;
  const DisplacementField u(ctx, from,
                            field_planes(from.extent, [&](int, int, int) { return voxels; }));
  const std::vector<float> r = resample(ctx, u, to).to_host(ctx);
  for (int c = 0; c < 3; ++c)
    EXPECT_NEAR(r[c * to.extent.count() + 100], world[c] / 1.3, float_sum);
}

TEST_P(Field, GivesTheSameBitsAsTheCpu) {
  const Geometry g = oblique_geometry({33, 29, 17});
  const auto run = [&](Context& c) {
    const DisplacementField u = waves(c, g, 3);
    const Inverse inverse = invert(c, u);
    std::vector<float> all = inverse.field.to_host(c);
    for (const std::vector<float>& part :
         {compose(c, u, inverse.field).to_host(c), jacobian_determinant(c, u).to_host(c)})
      all.insert(all.end(), part.begin(), part.end());
    const JacobianStatistics s = jacobian_statistics(c, u);
    for (double d :
         {s.mean_log, s.sd_log, s.min, s.max, s.corner_min, inverse.residual.mean_voxels})
      all.push_back(float(d));
    return all;
  };
  Context one({}, 1);
  const std::vector<float> expected = run(one);
  EXPECT_EQ(run(ctx), expected);
  EXPECT_EQ(run(cpu), expected);
}

TEST_P(Field, AGridThatDiffersInItsPlaceAloneIsAnotherOne) {
  const Geometry g = oblique_geometry({9, 8, 7});
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int y, int z) {
                              return Eigen::Vector3d(0.1 * x, 0.2 * y, 0.3 * z);
                            }));
  Geometry moved = g;
  moved.origin = g.index_to_world() * Eigen::Vector3d(1, 2, -1);
  const std::vector<float> r = resample(ctx, u, moved).to_host(ctx);
  const std::size_t n = g.extent.count(), at = g.extent.offset(3, 4, 5);
  EXPECT_NEAR(r[at], 0.1 * (3 + 1), float_sum);
  EXPECT_NEAR(r[at + n], 0.2 * (4 + 2), float_sum);
  EXPECT_NEAR(r[at + 2 * n], 0.3 * (5 - 1), float_sum);
  Geometry turned = g;  // about its first voxel: backwards along x and y
  turned.direction.col(0) *= -1;
  turned.direction.col(1) *= -1;
  turned.origin = g.index_to_world() * Eigen::Vector3d(8, 7, 0);
  const std::vector<float> t = resample(ctx, u, turned).to_host(ctx);
  EXPECT_NEAR(t[at], -0.1 * (8 - 3), float_sum);
  EXPECT_NEAR(t[at + n], -0.2 * (7 - 4), float_sum);
  turned.origin = g.origin;
  EXPECT_NEAR(resample(ctx, u, turned).to_host(ctx)[at], 0, float_sum) << "x goes from 0 down";
}

TEST_P(Field, WhatFallsOutsideHasNoResidual) {
  const Geometry g = plain_geometry({10, 6, 5});
  const DisplacementField u(
      ctx, g, field_planes(g.extent, [](int, int, int) { return Eigen::Vector3d(3, 0, 0); })),
      none(ctx, g, std::vector<float>(3 * g.extent.count()));
  const InverseResidual r = inverse_residual(ctx, u, none);
  EXPECT_NEAR(r.mean_voxels, 3, float_rounding) << "of seven columns in ten";
  EXPECT_NEAR(r.max_voxels, 3, float_rounding);
}

TEST_P(Field, TheMeanOfTheLogJacobianIsThatOfWhatDoesNotFold) {
  const Geometry g = plain_geometry({9, 8, 7});
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int, int z) {
                              return Eigen::Vector3d(z < 3 ? -2.0 * x : 0.5 * x, 0, 0);
                            }));
  const JacobianStatistics s = jacobian_statistics(ctx, u);
  EXPECT_NEAR(s.min, -1, float_rounding);
  EXPECT_NEAR(s.mean_log, std::log(1.5), float_sum);
  EXPECT_NEAR(s.sd_log, 0, 1e-3);
}

TEST_P(Field, FieldsOnDifferentGridsAreRefused) {
  const DisplacementField a = waves(ctx, plain_geometry({8, 8, 8}), 1),
                          b = waves(ctx, plain_geometry({8, 8, 9}), 1);
  EXPECT_THROW(compose(ctx, a, b), InvalidArgument);
  EXPECT_THROW(inverse_residual(ctx, a, b), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
