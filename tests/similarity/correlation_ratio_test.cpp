// Eta and its force against double precision, by every scheme the same bits.
#include <freeflow/similarity/correlation_ratio.h>

#include "reference/correlation_ratio.h"
#include "reference/intensity_range.h"
#include "reference/joint_density.h"
#include "reference/trilinear.h"
#include "similarity/pair_scene.h"
#include "similarity/ratio_schemes.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Ratio : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Ratio);

/// A pair whose images are clipped, so that the library's clipping commutes with interpolation.
struct Scene : PairScene {
  reference::Range f_range, m_range;
  Scene() : f_range(reference::clip_tails(f)), m_range(reference::clip_tails(m)) {}
};

/// The samples of a scene in double.
class Oracle {
 public:
  Oracle(const Scene& s, const CorrelationRatioOptions& options) : s_(s), options_(options) {
    for (std::size_t i = 0; i < s.f.size(); ++i)
      samples_.push_back(sample(i, Eigen::Vector3d::Zero()));
  }
  double cost() const { return reference::one_minus_eta(samples_, options_.bins); }
  double cost_with(std::size_t i, const Eigen::Vector3d& extra) {
    reference::RatioSample other = sample(i, extra);
    std::swap(samples_[i], other);
    const double result = cost();
    std::swap(samples_[i], other);
    return result;
  }

 private:
  reference::RatioSample sample(std::size_t i, const Eigen::Vector3d& extra) const {
    const Eigen::Vector3d p = s_.position(i, extra);
    const double v = reference::trilinear({s_.moving.extent, s_.m}, p);
    if (std::isnan(v) || std::isnan(s_.f[i])) return {};
    const int bins = options_.bins;
    const double w = reference::border_weight(
        p, s_.moving.extent, options_.border_mm * s_.moving.spacing.cwiseInverse());
    const double x = s_.f_range.share(s_.f[i]), y = s_.m_range.share(v);
    reference::RatioSample r{std::vector<double>(bins), 0};
    if (options_.direction == RatioDirection::moving_given_fixed) {
      r.mass[std::size_t(x * (bins - 1) + 0.5)] = w;
      r.y = y;
    } else {
      for (int b = 0; b < bins; ++b)
        r.mass[b] = w * reference::cubic_window(1 + y * (bins - 3) - b);
      r.y = x;
    }
    return r;
  }

  const Scene& s_;
  CorrelationRatioOptions options_;
  std::vector<reference::RatioSample> samples_;
};

/// |force + dE/du| / |dE/du| over every 29th voxel.
double relative_force_error(const Scene& s, Oracle& oracle, const std::vector<float>& force) {
  const std::size_t n = s.f.size();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < n; i += 29)
    for (int c = 0; c < 3; ++c) {
      const Eigen::Vector3d h = 1e-4 * Eigen::Vector3d::Unit(c);
      const auto outside = [&](const Eigen::Vector3d& e) {
        return std::isnan(reference::trilinear({s.moving.extent, s.m}, s.position(i, e)));
      };
      if (outside(h) || outside(-h)) continue;
      const double derivative = (oracle.cost_with(i, h) - oracle.cost_with(i, -h)) / 2e-4;
      error += std::pow(derivative + force[i + c * n], 2);
      norm += derivative * derivative;
    }
  return std::sqrt(error / norm);
}

TEST_P(Ratio, MatchesTheOracleAndItsForceTheDifferences) {
  const Scene s;
  for (const RatioDirection direction :
       {RatioDirection::moving_given_fixed, RatioDirection::fixed_given_moving})
    for (const double border : {0.0, 6.0})
      for (int bins : {16, 64}) {
        CorrelationRatio measure({bins, RatioScheme::automatic, direction, border});
        Oracle oracle(s, {bins, RatioScheme::automatic, direction, border});
        const Evaluated e = evaluate(ctx, measure, s);
        EXPECT_NEAR(e.cost, oracle.cost(), correlation_ratio_fixed_point)
            << int(direction) << ' ' << border << ' ' << bins;
        EXPECT_LT(relative_force_error(s, oracle, e.force), gradient_relative)
            << int(direction) << ' ' << border << ' ' << bins;
      }
}

TEST_P(Ratio, GivesTheSameBitsAsTheCpuForAnyThreadsAndScheme) {
  const Scene s;
  Context one({}, 1);
  for (const RatioDirection direction :
       {RatioDirection::moving_given_fixed, RatioDirection::fixed_given_moving}) {
    CorrelationRatio plain({64, RatioScheme::automatic, direction, 4});
    const Evaluated expected = evaluate(one, plain, s), many = evaluate(cpu, plain, s);
    EXPECT_EQ(many.cost, expected.cost);
    EXPECT_EQ(many.force, expected.force);
    for (const RatioSchemeInfo& info : schemes_for(direction)) {
      CorrelationRatio measure({64, info.scheme, direction, 4});
      const Evaluated here = evaluate(ctx, measure, s);
      EXPECT_EQ(here.cost, expected.cost) << info.name;
      EXPECT_EQ(here.force, expected.force) << info.name;
    }
  }
}

TEST_P(Ratio, AFunctionCostsNothingAndNoiseEverything) {
  Scene s;
  s.moving = s.fixed;
  s.map = PointMap{};
  std::fill(s.planes.begin(), s.planes.end(), 0.0f);
  for (float& v : s.f) v = std::round(v * 8);  // few values, so that a bin holds one
  s.m = s.f;
  for (float& v : s.m) v = 5 + std::cos(0.2f * v);
  CorrelationRatio measure({256, RatioScheme::automatic});
  EXPECT_LT(evaluate(ctx, measure, s).cost, 1e-9);
  s.m = random_values(s.m.size(), 5);
  CorrelationRatio coarse({16, RatioScheme::automatic});
  EXPECT_GT(evaluate(ctx, coarse, s).cost, 0.99);
}

TEST_P(Ratio, MaskedVoxelsNeitherCountNorMoveAndNoOverlapIsNotANumber) {
  for (const RatioDirection direction :
       {RatioDirection::moving_given_fixed, RatioDirection::fixed_given_moving}) {
    Scene s;
    for (std::size_t i = 0; i < s.f.size(); i += 2) s.f[i] = NAN;
    CorrelationRatio measure({64, RatioScheme::automatic, direction, 3});
    const Evaluated e = evaluate(ctx, measure, s);
    EXPECT_TRUE(std::isfinite(e.cost));
    for (std::size_t i = 0; i < s.f.size(); i += 2)
      for (int c = 0; c < 3; ++c) ASSERT_EQ(e.force[i + c * s.f.size()], 0.0f);
    for (float v : e.force) ASSERT_TRUE(std::isfinite(v));
    s.carry(1000);
    const Evaluated none = evaluate(ctx, measure, s);
    EXPECT_TRUE(std::isnan(none.cost));
    for (float v : none.force) ASSERT_EQ(v, 0.0f);
  }
}

TEST_P(Ratio, WhatASchemeCannotTakeIsRefused) {
  EXPECT_THROW(
      CorrelationRatio({64, RatioScheme::conflict_free, RatioDirection::fixed_given_moving}),
      InvalidArgument);
  EXPECT_THROW(CorrelationRatio({1}), InvalidArgument);
  EXPECT_THROW(CorrelationRatio({257}), InvalidArgument);
  EXPECT_THROW(
      CorrelationRatio({64, RatioScheme::automatic, RatioDirection::moving_given_fixed, -1}),
      InvalidArgument);
}

}  // namespace
}  // namespace freeflow
