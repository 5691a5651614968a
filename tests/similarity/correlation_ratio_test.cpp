// Sums of every scheme against an oracle, exact to the last count; eta and its force against double
// precision.
#include <freeflow/similarity/correlation_ratio.h>

#include <freeflow/deform/warp.h>

#include "reference/correlation_ratio.h"
#include "reference/joint_density.h"
#include "reference/trilinear.h"
#include "similarity/pair_scene.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

/// Two sampled images on the host, as ratio_sums takes them.
struct Images {
  Extent fixed_extent, moving_extent;
  std::vector<std::uint16_t> fixed;
  std::vector<float> moving, planes;
  PointMap map;
};

PointMap turned_map() {
  PointMap map;
  const float m[3][4] = {
      {0.97f, -0.11f, 0.05f, 1.3f}, {0.1f, 1.02f, -0.04f, -2.6f}, {-0.03f, 0.06f, 0.95f, 0.7f}};
  std::copy(&m[0][0], &m[0][0] + 12, &map.m[0][0]);
  return map;
}

enum class Content { random, constant, structured };

/// Fixed values below `fixed_values`, moving ones in [low, high], with holes in both.
Images make_images(Extent n, Content content, int fixed_values, float low, float high,
                   bool displaced) {
  Images s{n, {n.x + 3, n.y + 1, n.z + 2}, {}, {}, {}, turned_map()};
  std::vector<float> f = random_values(n.count(), 3, 0, float(fixed_values));
  s.moving = random_values(s.moving_extent.count(), 4, low, high);
  if (content == Content::constant) {
    std::fill(f.begin(), f.end(), float(fixed_values - 1));
    std::fill(s.moving.begin(), s.moving.end(), high);
  } else if (content == Content::structured) {
    const auto ball = [](int x, int y, int z) {
      return std::clamp(head({0.7 * x - 15, 0.7 * y - 12, z - 8.0}, 9) / 5, 0.0, 1.0);
    };
    f = voxelwise(n, [&](int x, int y, int z) { return ball(x, y, z) * fixed_values; });
    s.moving = voxelwise(s.moving_extent,
                         [&](int x, int y, int z) { return low + (high - low) * ball(x, y, z); });
  }
  for (float v : f) s.fixed.push_back(std::uint16_t(std::min(int(v), fixed_values - 1)));
  if (content != Content::constant) {
    for (std::size_t i = 0; i < s.fixed.size(); i += 37) s.fixed[i] = RatioInput::no_value;
    for (std::size_t i = 5; i < s.moving.size(); i += 101) s.moving[i] = NAN;
  }
  if (displaced) s.planes = field_planes(n, [](int x, int y, int z) { return wave(x, y, z, 0.8); });
  return s;
}

Images binned(Extent n, Content content, int bins, bool displaced = false) {
  return make_images(n, content, bins, 0, RatioInput::most, displaced);
}

/// The images on a device.
struct OnTheDevice {
  Buffer<std::uint16_t> fixed;
  Buffer<float> moving, planes;
  RatioInput input;

  OnTheDevice(Context& ctx, const Images& s)
      : fixed(ctx, s.fixed), moving(ctx, s.moving), planes(ctx, s.planes) {
    input = {s.fixed_extent,
             fixed.data(),
             {moving.data(), s.moving_extent},
             s.map,
             {planes.data(), s.fixed_extent},
             nullptr,
             1};
  }
};

std::vector<std::uint64_t> sums_of(Context& ctx, RatioScheme scheme, const RatioShape& shape,
                                   const Images& images, const RatioLaunch& launch = {}) {
  const OnTheDevice there(ctx, images);
  const RatioPlan plan(ctx, scheme, shape, there.input, launch);
  Buffer<std::uint64_t> sums(ctx, shape.words());
  const ContextStatistics before = ctx.statistics();
  ratio_sums(ctx, plan, there.input, sums.data());
  EXPECT_EQ(ctx.statistics().allocations, before.allocations);
  EXPECT_EQ(ctx.statistics().synchronizations, before.synchronizations);
  return sums.to_host(ctx);
}

/// One voxel after the other: warped on its own, then counted.
std::vector<std::uint64_t> oracle(const RatioShape& shape, const Images& s) {
  Context cpu;
  const OnTheDevice there(cpu, s);
  Buffer<float> warped(cpu, s.fixed.size());
  if (shape.nearest)
    for (std::size_t i = 0; i < s.fixed.size(); ++i) {
      const Extent n = s.moving_extent;
      const float q[3] = {float(i % s.fixed_extent.x),
                          float(i / s.fixed_extent.x % s.fixed_extent.y),
                          float(i / (std::size_t(s.fixed_extent.x) * s.fixed_extent.y))};
      int p[3];
      bool inside = true;
      for (int r = 0; r < 3; ++r) {
        const auto& m = s.map.m[r];
        const float v = std::fma(m[0], q[0], std::fma(m[1], q[1], std::fma(m[2], q[2], m[3])));
        inside &= v >= -0.5f && v <= float(n[r]) - 0.5f;
        p[r] = std::clamp(int(std::floor(v + 0.5f)), 0, n[r] - 1);
      }
      warped.data()[i] = inside ? s.moving[(std::size_t(p[2]) * n.y + p[1]) * n.x + p[0]] : NAN;
    }
  else
    warp_values(cpu, there.input.moving, s.map, there.input.u, {warped.data(), s.fixed_extent});
  std::vector<std::uint64_t> sums(shape.words());
  for (std::size_t i = 0; i < s.fixed.size(); ++i) {
    const float v = warped.data()[i];
    if (s.fixed[i] == RatioInput::no_value || std::isnan(v)) continue;
    const auto y = std::uint64_t(std::floor(v + 0.5f));
    sums[s.fixed[i]] += 1;
    sums[shape.bins + s.fixed[i]] += y;
    sums[2 * shape.bins] += y * y;
  }
  return sums;
}

std::vector<RatioSchemeInfo> schemes_for(RatioDirection direction) {
  std::vector<RatioSchemeInfo> schemes(ratio_schemes().begin(), ratio_schemes().end());
  if (direction == RatioDirection::fixed_given_moving)
    std::erase_if(schemes, [](const RatioSchemeInfo& info) {
      return info.scheme == RatioScheme::conflict_free;
    });
  return schemes;
}

class Ratio : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Ratio);

TEST_P(Ratio, SumsAreExact) {
  for (int bins : {2, 8, 64, 256})
    for (const Content content : {Content::random, Content::constant, Content::structured})
      for (const Extent n : {Extent{1, 1, 1}, {40, 1, 3}, {61, 47, 33}, {259, 5, 7}})
        for (const bool displaced : {false, true}) {
          const Images images = binned(n, content, bins, displaced);
          const std::vector<std::uint64_t> expected = oracle({bins}, images);
          for (const RatioSchemeInfo& info : ratio_schemes())
            ASSERT_EQ(sums_of(ctx, info.scheme, {bins}, images), expected)
                << info.name << ' ' << bins << " bins " << n.x;
        }
}

TEST_P(Ratio, NearestSumsAreExact) {
  const Images images = binned({61, 47, 33}, Content::random, 64);
  const RatioShape shape{64, RatioDirection::moving_given_fixed, true, {}};
  for (const RatioSchemeInfo& info : ratio_schemes())
    EXPECT_EQ(sums_of(ctx, info.scheme, shape, images), oracle(shape, images)) << info.name;
}

TEST_P(Ratio, AConstantImageDoesNotOverflow) {
  const Extent n{200, 150, 100};
  Images images = binned(n, Content::constant, 64);
  images.map = PointMap{};
  const std::uint64_t voxels = n.count(), y = 65534;
  for (const RatioSchemeInfo& info : ratio_schemes()) {
    const std::vector<std::uint64_t> sums =
        sums_of(ctx, info.scheme, {64}, images, {.blocks = 7, .threads = 64});
    EXPECT_EQ(sums[63], voxels) << info.name;
    EXPECT_EQ(sums[64 + 63], voxels * y) << info.name;
    EXPECT_EQ(sums[128], voxels * y * y) << info.name;
  }
}

TEST_P(Ratio, AConstantImageDoesNotOverflowWithWeightsOrWindows) {
  const Extent n{200, 150, 100};
  for (const RatioDirection direction :
       {RatioDirection::moving_given_fixed, RatioDirection::fixed_given_moving}) {
    const bool reverse = direction == RatioDirection::fixed_given_moving;
    Images images = make_images(n, Content::constant, reverse ? 65535 : 64, 1,
                                reverse ? 62 : RatioInput::most, false);
    images.map = PointMap{};
    const RatioShape shape{64, direction, false, {1, 1, 1}};
    const std::vector<std::uint64_t> expected = sums_of(cpu, RatioScheme::automatic, shape, images);
    std::uint64_t mass = 0, sum = 0;
    for (int b = 0; b < 64; ++b) {
      mass += expected[b];
      sum += expected[64 + b];
    }
    EXPECT_EQ(sum, mass * 65534u);
    EXPECT_EQ(expected[129], std::uint64_t((static_cast<unsigned __int128>(sum) * 65534u) >> 32) -
                                 (expected[128] >> 32));
    for (const RatioSchemeInfo& info : schemes_for(direction))
      EXPECT_EQ(sums_of(ctx, info.scheme, shape, images, {.blocks = 7, .threads = 64}), expected)
          << info.name;
  }
}

TEST_P(Ratio, WeightedAndWindowedSumsAreThoseOfOneCpuThread) {
  Context one({}, 1);
  for (const RatioDirection direction :
       {RatioDirection::moving_given_fixed, RatioDirection::fixed_given_moving})
    for (const bool nearest : {false, true})
      for (const float border : {0.0f, 7.5f})
        for (int bins : {8, 64, 256}) {
          const bool reverse = direction == RatioDirection::fixed_given_moving;
          const Images images =
              make_images({61, 47, 33}, Content::structured, reverse ? 65535 : bins,
                          reverse ? 1 : 0, reverse ? float(bins - 2) : RatioInput::most, true);
          const RatioShape shape{bins, direction, nearest, {border, border, border / 2}};
          const std::vector<std::uint64_t> expected =
              sums_of(one, RatioScheme::automatic, shape, images);
          for (const RatioSchemeInfo& info : schemes_for(direction))
            ASSERT_EQ(sums_of(ctx, info.scheme, shape, images), expected)
                << info.name << ' ' << bins << ' ' << border;
        }
}

TEST_P(Ratio, AnyLaunchGivesTheSameSums) {
  const Images images = binned({61, 47, 33}, Content::structured, 32);
  const std::vector<std::uint64_t> expected = oracle({32}, images);
  for (const RatioSchemeInfo& info : ratio_schemes())
    for (const RatioLaunch& launch : {RatioLaunch{1, 32, 128}, {3, 1024, 8192}, {2048, 96, 384}})
      EXPECT_EQ(sums_of(ctx, info.scheme, {32}, images, launch), expected)
          << info.name << ' ' << launch.blocks;
}

TEST_P(Ratio, CandidatesInOneLaunchAreThoseOfSingleOnes) {
  Images images = binned({61, 47, 33}, Content::structured, 64);
  std::vector<PointMap> maps(5, turned_map());
  for (int c = 0; c < 5; ++c) maps[c].m[c % 3][3] += 1.7f * float(c);
  maps[4].m[0][3] = 1000;  // no overlap
  const OnTheDevice there(ctx, images);
  const Buffer<PointMap> device_maps(ctx, maps);
  for (const RatioSchemeInfo& info : ratio_schemes()) {
    RatioInput input = there.input;
    input.maps = device_maps.data();
    input.candidates = 5;
    const RatioShape shape{64};
    const RatioPlan plan(ctx, info.scheme, shape, input);
    Buffer<std::uint64_t> sums(ctx, 5 * shape.words());
    Buffer<RatioStatistics> statistics(ctx, 5);
    ratio_sums(ctx, plan, input, sums.data());
    ratio_statistics(ctx, shape, sums.data(), 5, statistics.data());
    const std::vector<std::uint64_t> all = sums.to_host(ctx);
    for (int c = 0; c < 5; ++c) {
      images.map = maps[c];
      const auto begin = all.begin() + std::ptrdiff_t(c * shape.words());
      ASSERT_EQ(std::vector<std::uint64_t>(begin, begin + std::ptrdiff_t(shape.words())),
                oracle(shape, images))
          << info.name << ' ' << c;
    }
    EXPECT_TRUE(std::isnan(statistics.to_host(ctx)[4].cost));
    EXPECT_GT(statistics.to_host(ctx)[1].cost, 0);
  }
}

TEST_P(Ratio, FinishingGivesMeansAndLeavesZeros) {
  const int bins = 64;
  const RatioShape shape{bins};
  Images images = binned({61, 47, 33}, Content::structured, bins);
  for (std::uint16_t& bin : images.fixed)
    if (bin == 7) bin = 8;  // so bin 7 is empty
  const OnTheDevice there(ctx, images);
  const RatioPlan plan(ctx, RatioScheme::automatic, shape, there.input);
  Buffer<std::uint64_t> sums(ctx, shape.words());
  Buffer<RatioStatistics> statistics(ctx, 1), expected(ctx, 1);
  Buffer<float> means(ctx, bins);
  ratio_sums(ctx, plan, there.input, sums.data());
  const std::vector<std::uint64_t> counted = sums.to_host(ctx);
  ASSERT_EQ(counted[7], 0u);
  ratio_statistics(ctx, shape, sums.data(), 1, expected.data());
  const RatioStatistics whole = expected.to_host(ctx)[0];
  double* cost = static_cast<double*>(ctx.readback());
  for (int again = 0; again < 2; ++again) {
    finish_ratio(ctx, shape, sums.data(), {statistics.data(), means.data(), cost});
    ctx.synchronize();
    EXPECT_EQ(*cost, whole.cost);
    EXPECT_EQ(statistics.to_host(ctx)[0].spread, whole.spread);
    EXPECT_EQ(sums.to_host(ctx), std::vector<std::uint64_t>(shape.words(), 0));
    const std::vector<float> mean = means.to_host(ctx);
    for (int b = 0; b < bins; ++b) {
      const double n = double(counted[b]), y = n > 0 ? double(counted[bins + b]) / n : whole.mean;
      ASSERT_FLOAT_EQ(mean[b], float(y / RatioInput::most)) << b;
    }
    add_ratio_sums(ctx, plan, there.input, sums.data());
    EXPECT_EQ(sums.to_host(ctx), counted);
  }
}

/// A pair whose moving image is clipped, so that the library's clipping commutes with
/// interpolation.
struct Scene : PairScene {
  Scene() {
    clip();
    clip();
  }
  IntensityRange range_of(const std::vector<float>& v, const Geometry& g) const {
    Context cpu;
    return robust_range(cpu, Volume<float>(cpu, g, v), "it");
  }
  void clip() {
    const IntensityRange r = range_of(m, moving);
    for (float& v : m) v = std::clamp(v, r.low, r.high);
  }
};

/// The samples of a scene in double.
class Oracle {
 public:
  Oracle(const Scene& s, const CorrelationRatioOptions& options)
      : s_(s), options_(options), f_range_(s.range_of(s.f, s.fixed)),
        m_range_(s.range_of(s.m, s.moving)) {
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
    const double y = (v - m_range_.low) / (m_range_.high - m_range_.low);
    const double x = std::clamp(
        (double(s_.f[i]) - f_range_.low) / (double(f_range_.high) - f_range_.low), 0.0, 1.0);
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
  IntensityRange f_range_, m_range_;
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
    s.map.m[0][3] += 1000;
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
  const OnTheDevice there(ctx, binned({8, 8, 8}, Content::random, 8));
  EXPECT_THROW(RatioPlan(ctx, RatioScheme::conflict_free, {8, RatioDirection::fixed_given_moving},
                         there.input),
               InvalidArgument);
  EXPECT_THROW(RatioPlan(ctx, RatioScheme::automatic, {8}, there.input, {.threads = 48}),
               InvalidArgument);
}

TEST(RatioSchemes, NamesRoundTrip) {
  for (const RatioSchemeInfo& info : ratio_schemes())
    EXPECT_EQ(parse_ratio_scheme(info.name), info.scheme);
  EXPECT_FALSE(parse_ratio_scheme("fastest"));
}

}  // namespace
}  // namespace freeflow
