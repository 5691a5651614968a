// The log-Jacobian's statistics in closed form.
#include <freeflow/deform/jacobian_bias.h>

#include <cmath>

#include <freeflow/core/error.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class Bias : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Bias);

TEST_P(Bias, AUniformScalingIsAllMean) {
  const Geometry g = plain_geometry({40, 40, 40});
  const auto scaled = [&](double s) {
    return DisplacementField(ctx, g, field_planes(g.extent, [&](int x, int y, int z) {
                               return Eigen::Vector3d(s * x, s * y, s * z);
                             }));
  };
  const JacobianBias b = jacobian_bias(ctx, scaled(0.1));
  EXPECT_NEAR(b.mean, 3 * std::log(1.1), 1e-5);
  EXPECT_LT(b.sd, 1e-4);
  EXPECT_LT(b.mean_error, 1e-4);
  EXPECT_THROW(jacobian_bias(ctx, scaled(-1.5)), InvalidArgument) << "a fold";
  EXPECT_THROW(jacobian_bias(ctx, scaled(0.1), 16, 12), InvalidArgument) << "one block";
  EXPECT_THROW(jacobian_bias(ctx, scaled(0.1), 0), InvalidArgument);
  EXPECT_THROW(jacobian_bias(ctx, scaled(0.1), 16, -1), InvalidArgument);
  EXPECT_THROW(log_jacobian_correlation(ctx, scaled(0.1), scaled(0.1), -1), InvalidArgument);
}

/// Mean of the cubes over that of the squares to 3/2, about the mean.
double skewness_of(const std::vector<double>& values) {
  double mean = 0, squares = 0, cubes = 0;
  for (const double v : values) mean += v / double(values.size());
  for (const double v : values) {
    squares += std::pow(v - mean, 2) / double(values.size());
    cubes += std::pow(v - mean, 3) / double(values.size());
  }
  return cubes / std::pow(squares, 1.5);
}

TEST_P(Bias, FewVoxelsThatGrowMuchAreSkewed) {
  // Along x the first eight columns inside the margin grow by a fifth, one by a tenth, the others
  // not at all, or all of them shrink as much; 2^3 blocks of 16.
  const Geometry g = plain_geometry({40, 40, 40});
  for (const double growth : {0.2, -0.2}) {
    const DisplacementField u(ctx, g, field_planes(g.extent, [&](int x, int, int) {
                                return Eigen::Vector3d(growth * (x < 12 ? x : 12), 0, 0);
                              }));
    std::vector<double> first, second(16, 0.0);  // of the blocks' columns
    for (int x = 4; x < 20; ++x)
      first.push_back(std::log(x < 12 ? 1 + growth : x == 12 ? 1 + growth / 2 : 1.0));
    const auto skewness = [&](int firsts, int seconds) {
      std::vector<double> all;
      for (int i = 0; i < firsts; ++i) all.insert(all.end(), first.begin(), first.end());
      for (int i = 0; i < seconds; ++i) all.insert(all.end(), second.begin(), second.end());
      return skewness_of(all);
    };
    const JacobianBias b = jacobian_bias(ctx, u);
    const double expected = skewness(4, 4);
    EXPECT_NEAR(b.skewness, expected, 1e-4);
    EXPECT_GT(b.skewness * growth, 0.15) << "its sign is that of the few";
    // The jackknife: without each of the four blocks of either kind.
    const double error = std::sqrt(
        7.0 / 8 * 4 *
        (std::pow(skewness(3, 4) - expected, 2) + std::pow(skewness(4, 3) - expected, 2)));
    EXPECT_NEAR(b.skewness_error, error, 1e-3 * error);
  }
}

TEST_P(Bias, ItsErrorIsThatOfIndependentBlocks) {
  // J along x alternates by blocks: the jackknife's error of a mean of 2^3 blocks with two values
  // is sd / sqrt(blocks - 1).
  const Geometry g = plain_geometry({40, 40, 40});
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int, int) {
                              return Eigen::Vector3d(0.2 * (x < 20 ? x : 20), 0, 0);
                            }));
  const JacobianBias b = jacobian_bias(ctx, u);
  EXPECT_NEAR(b.mean_error, b.sd / std::sqrt(7.0), 0.05 * b.sd);
  EXPECT_NEAR(log_jacobian_correlation(ctx, u, u), 1, 1e-9);
}

}  // namespace
}  // namespace freeflow
