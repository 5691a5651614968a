// The Gaussian and the decimation against direct sums, on every device.
#include <freeflow/regularize/gaussian.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Gaussian : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Gaussian);

TEST_P(Gaussian, SmoothsASineByItsTransferFunction) {
  const Geometry g = plain_geometry({64, 3, 3});
  const double k = 0.4, sigma = 2.5;
  const std::vector<float> out =
      gaussian(ctx,
               Volume<float>(ctx, g,
                             voxelwise(g.extent, [&](int x, int, int) { return std::sin(k * x); })),
               {sigma, 0, 0})
          .to_host(ctx);
  for (int x = 12; x < 52; ++x)
    EXPECT_NEAR(out[x], std::exp(-0.5 * k * k * sigma * sigma) * std::sin(k * x), 1e-3);
}

TEST_P(Gaussian, KeepsAConstantToTheBorder) {
  const Geometry g = plain_geometry({17, 9, 5});
  for (float v :
       gaussian(ctx, Volume<float>(ctx, g, std::vector<float>(g.extent.count(), 3)), {2, 1, 3})
           .to_host(ctx))
    ASSERT_NEAR(v, 3, 3 * float_rounding);
}

TEST_P(Gaussian, NanDoesNotSpread) {
  const Geometry g = plain_geometry({17, 1, 1});
  std::vector<float> line(17, 2.0f);
  line[8] = NAN;
  for (float v : gaussian(ctx, Volume<float>(ctx, g, line), {1.5, 0, 0}).to_host(ctx))
    ASSERT_NEAR(v, 2, 2 * float_rounding);
  const Volume<float> nothing(ctx, g, std::vector<float>(17, NAN));
  for (float v : gaussian(ctx, nothing, {1.5, 0, 0}).to_host(ctx)) ASSERT_TRUE(std::isnan(v));
}

TEST_P(Gaussian, DecimationKeepsPositionsInTheWorld) {
  const Geometry g = oblique_geometry({41, 30, 12}, {1, 1.5, 4});
  const auto plane = [](const Eigen::Vector3d& p) { return 2 * p.x() - p.y() + 0.5 * p.z(); };
  const Volume<float> small = decimate(ctx, sample_world(ctx, g, plane), {4, 2, 1});
  EXPECT_EQ(small.extent(), (Extent{11, 15, 12}));
  const std::vector<float> out = small.to_host(ctx),
                           expected = sample_world(cpu, small.geometry(), plane).to_host(cpu);
  for (int z = 0; z < 12; ++z)
    for (int y = 3; y < 12; ++y)
      for (int x = 3; x < 8; ++x) {
        const std::size_t i = (std::size_t(z) * 15 + y) * 11 + x;
        ASSERT_NEAR(out[i], expected[i], 1e-3);  // values up to 100 in float, window cut at 4 sigma
      }
}

/// A voxel of n smaller ones has the variance (n^2 - 1) / 4 of theirs: a Gaussian stays one, of as
/// much more.
TEST_P(Gaussian, DecimationWidensAGaussianByAVoxelsVariance) {
  const Geometry g = plain_geometry({129, 1, 1});
  const double variance = 9;
  const Volume<float> blob(ctx, g, voxelwise(g.extent, [&](int x, int, int) {
                             return std::exp(-0.5 * (x - 64) * (x - 64) / variance);
                           }));
  for (const int n : {2, 4}) {
    const Volume<float> small = decimate(ctx, blob, {n, 1, 1});
    const std::vector<float> out = small.to_host(ctx);
    const double wider = variance + 0.25 * (n * n - 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double x = (small.geometry().index_to_world() * Eigen::Vector3d(double(i), 0, 0)).x() -
                       (g.index_to_world() * Eigen::Vector3d(64, 0, 0)).x();
      EXPECT_NEAR(out[i], std::sqrt(variance / wider) * std::exp(-0.5 * x * x / wider), 1e-3);
    }
  }
}

TEST_P(Gaussian, GivesTheSameBitsAsTheCpu) {
  const Geometry g = plain_geometry({61, 47, 33});
  std::vector<float> v = random_values(g.extent.count(), 2);
  v[1234] = NAN;
  EXPECT_EQ(decimate(ctx, Volume<float>(ctx, g, v), {2, 4, 2}).to_host(ctx),
            decimate(cpu, Volume<float>(cpu, g, v), {2, 4, 2}).to_host(cpu));
}

}  // namespace
}  // namespace freeflow
