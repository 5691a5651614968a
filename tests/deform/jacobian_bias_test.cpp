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
