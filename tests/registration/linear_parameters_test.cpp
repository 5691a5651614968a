// The parameters and the options of linear registration, on the host.
#include <freeflow/registration/linear/linear_options.h>
#include <freeflow/registration/linear/linear_parameters.h>

#include <gtest/gtest.h>

#include <freeflow/core/error.h>

#include "support/linear_transform.h"

namespace freeflow {
namespace linear_parameters_test {

using test::transform;

TEST(LinearParametersTest, DecompositionGoesBothWays) {
  const Eigen::Vector3d center(10, -20, 30);
  const Eigen::Affine3d a =
      transform({100, -70, 160}, {5, 6, 7}, {1.2, 0.8, 1.05}, {0.1, -0.2, 0.15});
  const LinearDecomposition parts = decompose(a, center);
  EXPECT_TRUE(compose(parts, center).isApprox(a, 1e-12));
  EXPECT_TRUE(parts.scale.isApprox(Eigen::Vector3d(1.2, 0.8, 1.05), 1e-12));
  EXPECT_TRUE(parts.skew.isApprox(Eigen::Vector3d(0.1, -0.2, 0.15), 1e-12));
  EXPECT_TRUE(decompose(transform({25, -35, 45}, Eigen::Vector3d::Ones()), center)
                  .euler_degrees()
                  .isApprox(Eigen::Vector3d(25, -35, 45), 1e-9));
  Eigen::Affine3d mirror = Eigen::Affine3d::Identity();
  mirror.linear()(2, 2) = -1;
  EXPECT_THROW(decompose(mirror, center), InvalidArgument);
}

TEST(LinearParametersTest, StartIsTheNearestOfTheModelAndAUnitStepMovesTheEdgeByAMillimetre) {
  const Eigen::Vector3d center(10, -20, 30);
  const Eigen::Affine3d a =
      transform({30, 20, -10}, {5, 6, 7}, {1.2, 0.8, 1.05}, {0.1, -0.2, 0.15});
  const LinearParameters affine(LinearModel::affine, center, 80, a);
  EXPECT_TRUE(affine.affine(affine.start()).isApprox(a, 1e-12));
  const LinearParameters rigid(LinearModel::rigid, center, 80, a);
  const Eigen::Affine3d r = rigid.affine(rigid.start());
  EXPECT_TRUE((r.linear().transpose() * r.linear()).isIdentity(1e-12));
  EXPECT_TRUE((r * center).isApprox(a * center, 1e-12));
  for (const LinearModel fewer :
       {LinearModel::rigid, LinearModel::similarity, LinearModel::scaled}) {
    const LinearParameters held(fewer, center, 80, a, NotFree::held);
    EXPECT_TRUE(held.affine(held.start()).isApprox(a, 1e-12)) << int(fewer);
  }
  const LinearParameters similarity(LinearModel::similarity, center, 80, a);
  const Eigen::Matrix3d alike = similarity.affine(similarity.start()).linear();
  EXPECT_TRUE(
      (alike.transpose() * alike)
          .isApprox(std::pow(1.2 * 0.8 * 1.05, 2.0 / 3) * Eigen::Matrix3d::Identity(), 1e-12))
      << "the scale that keeps the volume";
  for (const int i : {0, 4}) {
    Eigen::VectorXd p = rigid.start();
    p[i] += 1;
    const Eigen::Vector3d edge = center + 80 * Eigen::Vector3d::UnitZ();
    EXPECT_NEAR((rigid.affine(p) * edge - r * edge).norm(), 1, 0.35);
  }
}

TEST(LinearOptions, IterationsAreThoseOfTheFinestLevelsWhereCoarseOnesAreLeftOut) {
  LinearOptions o;
  for (const auto& [level, usual] : {std::pair(0, 40), {1, 30}, {2, 15}, {3, 6}, {7, 6}})
    EXPECT_EQ(o.iterations_of_level(level, 8), usual) << level;
  o.levels = 3;
  o.iterations = {5, 6, 7};
  EXPECT_EQ(o.iterations_of_level(2, 3), 7);
  EXPECT_EQ(o.iterations_of_level(0, 3), 5);
  EXPECT_EQ(o.iterations_of_level(1, 2), 7);
  EXPECT_EQ(o.iterations_of_level(0, 1), 7);
}

}  // namespace linear_parameters_test
}  // namespace freeflow
