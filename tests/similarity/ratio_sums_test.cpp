// The correlation ratio's sums of every scheme against an oracle, exact to the last count.
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

#include <freeflow/deform/warp.h>

#include "similarity/ratio_schemes.h"
#include "support/devices.h"
#include "support/phantoms.h"

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
      const std::size_t row = i / std::size_t(s.fixed_extent.x);
      const std::size_t z = row / std::size_t(s.fixed_extent.y);
      const float q[3] = {float(i % s.fixed_extent.x), float(row % s.fixed_extent.y), float(z)};
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

class RatioSums : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(RatioSums);

TEST_P(RatioSums, AreExact) {
  for (int bins : {2, 8, 64, 256})
    for (const Content content : {Content::random, Content::constant, Content::structured})
      for (const Extent n : {Extent{1, 1, 1}, {40, 1, 3}, {61, 47, 33}, {259, 5, 7}})
        for (const bool displaced : {false, true}) {
          const Images images = binned(n, content, bins, displaced);
          const std::vector<std::uint64_t> expected = oracle({bins}, images);
          for (const RatioSchemeInfo& info : chosen(ratio_schemes()))
            ASSERT_EQ(sums_of(ctx, info.scheme, {bins}, images), expected)
                << info.name << ' ' << bins << " bins " << n.x;
        }
}

TEST_P(RatioSums, OfNearestSamplesAreExact) {
  const Images images = binned({61, 47, 33}, Content::random, 64);
  const RatioShape shape{64, RatioDirection::moving_given_fixed, true, {}};
  for (const RatioSchemeInfo& info : chosen(ratio_schemes()))
    EXPECT_EQ(sums_of(ctx, info.scheme, shape, images), oracle(shape, images)) << info.name;
}

/// A few blocks that take a multiple of the 65,408 voxels after which a histogram is flushed.
struct FewBlocks {
  Extent n;
  RatioLaunch launch;
};
FewBlocks few_blocks([[maybe_unused]] const Device& device) {
#ifdef FREEFLOW_EMULATED
  if (device.is_cuda()) return {{100, 50, 35}, {.blocks = 1, .threads = 128}};
#endif
  return {{200, 150, 100}, {.blocks = 7, .threads = 64}};
}

TEST_P(RatioSums, AConstantImageDoesNotOverflow) {
  const auto [n, launch] = few_blocks(GetParam());
  Images images = binned(n, Content::constant, 64);
  images.map = PointMap{};
  const std::uint64_t voxels = n.count(), y = 65534;
  for (const RatioSchemeInfo& info : chosen(ratio_schemes())) {
    const std::vector<std::uint64_t> sums = sums_of(ctx, info.scheme, {64}, images, launch);
    EXPECT_EQ(sums[63], voxels) << info.name;
    EXPECT_EQ(sums[64 + 63], voxels * y) << info.name;
    EXPECT_EQ(sums[128], voxels * y * y) << info.name;
  }
}

TEST_P(RatioSums, AConstantImageDoesNotOverflowWithWeightsOrWindows) {
  const auto [n, launch] = few_blocks(GetParam());
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
      EXPECT_EQ(sums_of(ctx, info.scheme, shape, images, launch), expected) << info.name;
  }
}

TEST_P(RatioSums, WeightedAndWindowedSumsAreThoseOfOneCpuThread) {
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

TEST_P(RatioSums, AnyLaunchGivesTheSameSums) {
  const Images images = binned({61, 47, 33}, Content::structured, 32);
  const std::vector<std::uint64_t> expected = oracle({32}, images);
  for (const RatioSchemeInfo& info : chosen(ratio_schemes()))
    for (const RatioLaunch& launch : {RatioLaunch{1, 32, 128}, {3, 1024, 8192}, {2048, 96, 384}})
      EXPECT_EQ(sums_of(ctx, info.scheme, {32}, images, launch), expected)
          << info.name << ' ' << launch.blocks;
}

TEST_P(RatioSums, CandidatesInOneLaunchAreThoseOfSingleOnes) {
  Images images = binned({61, 47, 33}, Content::structured, 64);
  std::vector<PointMap> maps(5, turned_map());
  for (int c = 0; c < 5; ++c) maps[c].m[c % 3][3] += 1.7f * float(c);
  maps[4].m[0][3] = 1000;  // no overlap
  const OnTheDevice there(ctx, images);
  const Buffer<PointMap> device_maps(ctx, maps);
  for (const RatioSchemeInfo& info : chosen(ratio_schemes())) {
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

TEST_P(RatioSums, FinishingGivesMeansAndLeavesZeros) {
  const int bins = 64;
  const RatioShape shape{bins};
  Images images = binned({61, 47, 33}, Content::structured, bins);
  for (std::uint16_t& bin : images.fixed)
    if (bin == 7) bin = 8;  // so bin 7 is empty
  for (std::size_t i = 1; i < images.fixed.size(); i += 50) images.fixed[i] = bins - 1;
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
  const Buffer<std::uint64_t> there_too(cpu, counted);
  Buffer<RatioStatistics> of_cpu(cpu, 1);
  ratio_statistics(cpu, shape, there_too.data(), 1, of_cpu.data());
  EXPECT_EQ(whole.cost, of_cpu.to_host(cpu)[0].cost);
  EXPECT_EQ(whole.mean, of_cpu.to_host(cpu)[0].mean);
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

TEST_P(RatioSums, WhatASchemeCannotTakeIsRefused) {
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
