// Information of a moving image sampled by its cubic B-spline: value and force against a spline
// solved densely in double.
#include "similarity/information_scene.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

Scene cubic_scene() {
  Scene s;
  s.cubic = std::make_shared<reference::Tricubic>(reference::Image{s.moving.extent, s.m});
  return s;
}

MutualInformationOptions cubic(Information measure, Estimator estimator, int fixed_bins = 24,
                               int moving_bins = 40) {
  return {measure,
          fixed_bins,
          moving_bins,
          estimator,
          HistogramScheme::automatic,
          Interpolation::cubic};
}

class Tricubic : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Tricubic);

TEST_P(Tricubic, InformationMatchesTheOracleAndItsForceTheDifferences) {
  const Scene s = cubic_scene();
  for (const Estimator estimator : {Estimator::parzen, Estimator::parzen_both})
    for (const Information measure : {Information::nmi, Information::mi}) {
      MutualInformation information(cubic(measure, estimator));
      const InformationOracle oracle(s, cubic(measure, estimator));
      const Evaluated e = evaluate(ctx, information, s);
      EXPECT_NEAR(e.cost, oracle.cost(), nmi_fixed_point * 10);  // as for trilinear samples
      EXPECT_LT(relative_force_error(s, oracle, e.force), gradient_relative);
      MutualInformation trilinear({measure, 24, 40, estimator});
      EXPECT_GT(std::abs(evaluate(ctx, trilinear, s).cost - e.cost), 1e-4)
          << "the two ways of sampling must be told apart";
    }
}

TEST_P(Tricubic, AnAffineMapHasTheValueOfTheOracle) {
  Scene s = cubic_scene();
  std::fill(s.planes.begin(), s.planes.end(), 0.0f);
  s.world = Eigen::Translation3d(0.7, -0.4, 1.1) *
            Eigen::Affine3d(Eigen::AngleAxisd(0.1, Eigen::Vector3d(1, 2, -1).normalized()));
  s.world.linear() *= Eigen::Vector3d(1.05, 0.96, 1.02).asDiagonal();
  s.map = index_map(s.fixed, s.world, s.moving);
  MutualInformation nmi(cubic(Information::nmi, Estimator::parzen, 64, 64));
  const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
  nmi.read_ranges(ctx, f, m);
  nmi.prepare(ctx, {f, m, PointMap{}});
  nmi.set_map(s.map);
  Buffer<double> cost(ctx, 1);
  nmi.evaluate(ctx, {nullptr, s.fixed.extent}, {nullptr, s.fixed.extent}, cost.data());
  EXPECT_NEAR(cost.to_host(ctx)[0],
              InformationOracle(s, cubic(Information::nmi, Estimator::parzen, 64, 64)).cost(),
              nmi_fixed_point * 10);
}

TEST_P(Tricubic, IntensityDerivativeMatchesTheDifferences) {
  const Scene s = cubic_scene();
  MutualInformation information(cubic(Information::nmi, Estimator::parzen));
  evaluate(ctx, information, s);
  const InformationOracle oracle(s, cubic(Information::nmi, Estimator::parzen));
  Volume<float> derivative(ctx, s.fixed);
  Buffer<double> cost(ctx, 1);
  information.intensity_derivative(ctx, DisplacementField(ctx, s.fixed, s.planes).view(),
                                   derivative.view(), cost.data());
  const std::vector<float> d = derivative.to_host(ctx);
  const double h = 1e-5 * (s.m_range.high - s.m_range.low);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < d.size(); i += 7) {
    const double v = s.warped(i, Eigen::Vector3d::Zero());
    if (std::isnan(v) || v < s.m_range.low + 2 * h || v > s.m_range.high - 2 * h) continue;
    const double expected =
        (oracle.cost_with_intensity(i, h) - oracle.cost_with_intensity(i, -h)) / (2 * h);
    error += std::pow(expected - d[i], 2);
    norm += expected * expected;
  }
  EXPECT_LT(std::sqrt(error / norm), gradient_relative);
}

// Jumps between voxels make the spline overshoot; what it overshoots is counted in the last bins
// and pulls at nothing.
TEST_P(Tricubic, OvershootsPullAtNothing) {
  Scene s;
  for (std::size_t i = 0; i < s.m.size(); ++i) s.m[i] = i % 7 < 3 ? 0 : 1 + 0.01f * float(i % 11);
  s.m_range = reference::clip_tails(s.m);
  s.cubic = std::make_shared<reference::Tricubic>(reference::Image{s.moving.extent, s.m});
  MutualInformation information(cubic(Information::nmi, Estimator::parzen));
  const std::vector<float> force = evaluate(ctx, information, s).force;
  const double margin = 0.05 * (s.m_range.high - s.m_range.low);
  std::size_t beyond = 0, pulled = 0;
  for (std::size_t i = 0; i < s.f.size(); ++i) {
    const double v = s.warped(i, Eigen::Vector3d::Zero());
    if (v < s.m_range.low - margin || v > s.m_range.high + margin) {
      ++beyond;
      ASSERT_EQ(force[i], 0.0f);
    }
    pulled += force[i] != 0;
  }
  EXPECT_GT(beyond, s.f.size() / 20);
  EXPECT_GT(pulled, s.f.size() / 4);
}

TEST_P(Tricubic, VoxelsWithoutAValueNeitherCountNorMove) {
  Scene s;
  for (std::size_t i = 0; i < s.m.size(); i += 31) s.m[i] = NAN;
  for (std::size_t i = 0; i < s.f.size(); i += 2) s.f[i] = NAN;
  for (const Estimator estimator : {Estimator::hard, Estimator::parzen}) {
    MutualInformation information(cubic(Information::nmi, estimator));
    const Evaluated e = evaluate(ctx, information, s);
    EXPECT_TRUE(std::isfinite(e.cost));
    for (std::size_t i = 0; i < e.force.size(); ++i) {
      ASSERT_TRUE(std::isfinite(e.force[i]));
      if (std::isnan(s.f[i % s.f.size()])) {
        ASSERT_EQ(e.force[i], 0.0f);
      }
    }
  }
}

TEST_P(Tricubic, GivesTheSameBitsAsTheCpuForAnyThreads) {
  Context one({}, 1);
  Scene s;
  for (std::size_t i = 0; i < s.m.size(); i += 31) s.m[i] = NAN;
  for (const Estimator estimator : {Estimator::hard, Estimator::parzen, Estimator::parzen_both}) {
    MutualInformation information(cubic(Information::nmi, estimator, 64, 48));
    const Evaluated expected = evaluate(one, information, s), here = evaluate(ctx, information, s),
                    many = evaluate(cpu, information, s);
    EXPECT_EQ(here.cost, expected.cost);
    EXPECT_EQ(here.force, expected.force);
    EXPECT_EQ(many.cost, expected.cost);
    EXPECT_EQ(many.force, expected.force);
  }
}

TEST_P(Tricubic, SaysWhatItCannotTake) {
  EXPECT_THROW(MutualInformation(cubic(Information::nmi, Estimator::partial_volume)),
               InvalidArgument);
  EXPECT_THROW(MutualInformation({Information::nmi, 32, 32, Estimator::parzen,
                                  HistogramScheme::automatic, Interpolation::nearest}),
               InvalidArgument);
}

}  // namespace
}  // namespace freeflow
