// Counts of every scheme against an oracle, exact to the last count, on every device.
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include "reference/nmi.h"
#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

struct Pair {
  std::vector<std::uint16_t> fixed;
  std::vector<float> moving;
};

Pair random_pair(std::size_t n, int fixed_bins, int moving_bins, unsigned seed) {
  Pair p;
  for (float v : random_values(n, seed, 0, float(fixed_bins))) p.fixed.push_back(std::uint16_t(std::min(int(v), fixed_bins - 1)));
  p.moving = random_values(n, seed + 1, 1, float(moving_bins - 2));
  for (std::size_t i = 0; i < n; i += 37) p.fixed[i] = HistogramInput::no_bin;
  for (std::size_t i = 5; i < n; i += 41) p.moving[i] = NAN;
  return p;
}

Pair constant_pair(std::size_t n) { return {std::vector<std::uint16_t>(n, 3), std::vector<float>(n, 2.25f)}; }

std::vector<std::uint64_t> count(Context& ctx, HistogramScheme scheme, const HistogramShape& shape, const Pair& pair) {
  const Buffer<std::uint16_t> fixed(ctx, pair.fixed);
  const Buffer<float> moving(ctx, pair.moving);
  Buffer<std::uint64_t> histogram(ctx, shape.bins());
  joint_histogram(ctx, scheme, shape, {fixed.data(), moving.data(), pair.fixed.size()}, histogram.data());
  return histogram.to_host(ctx);
}

std::vector<std::uint64_t> hard_oracle(const HistogramShape& shape, const Pair& pair) {
  std::vector<std::uint64_t> h(shape.bins());
  for (std::size_t i = 0; i < pair.fixed.size(); ++i)
    if (pair.fixed[i] != HistogramInput::no_bin && pair.moving[i] == pair.moving[i])
      h[std::size_t(pair.fixed[i]) * shape.moving_bins + std::size_t(std::floor(pair.moving[i] + 0.5f))] += 1;
  return h;
}

class Histogram : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Histogram);

TEST_P(Histogram, HardCountsAreExact) {
  for (const HistogramSchemeInfo& info : histogram_schemes())
    for (const auto& [nf, nm] : {std::pair{8, 8}, {64, 64}, {100, 37}, {128, 128}, {256, 256}})
      for (const std::size_t n : {1u, 511u, 513u, 100003u}) {
        const HistogramShape shape{nf, nm, Estimator::hard};
        const Pair pair = random_pair(n, nf, nm, unsigned(n));
        ASSERT_EQ(count(ctx, info.scheme, shape, pair), hard_oracle(shape, pair)) << info.name << ' ' << nf << 'x' << nm << ' ' << n;
      }
}

TEST_P(Histogram, AConstantImageDoesNotOverflow) {
  const std::size_t n = 3000001;
  for (const HistogramSchemeInfo& info : histogram_schemes()) {
    const std::vector<std::uint64_t> hard = count(ctx, info.scheme, {64, 64, Estimator::hard}, constant_pair(n));
    EXPECT_EQ(hard[3 * 64 + 2], n) << info.name;
    const std::vector<std::uint64_t> soft = count(ctx, info.scheme, {64, 64, Estimator::parzen}, constant_pair(n));
    std::uint64_t mass = 0;
    for (std::uint64_t m : soft) mass += m;
    EXPECT_EQ(mass, n * 65536u) << info.name;
  }
}

TEST_P(Histogram, ParzenMassIsExactAndWeightsAreTheCubicWindow) {
  const std::size_t n = 20011;
  const HistogramShape shape{32, 48, Estimator::parzen};
  const Pair pair = random_pair(n, 32, 48, 4);
  std::vector<double> expected(shape.bins());
  std::uint64_t voxels = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (pair.fixed[i] == HistogramInput::no_bin || pair.moving[i] != pair.moving[i]) continue;
    ++voxels;
    for (int m = 0; m < 48; ++m) expected[std::size_t(pair.fixed[i]) * 48 + m] += reference::cubic_window(double(pair.moving[i]) - m);
  }
  for (const HistogramSchemeInfo& info : histogram_schemes()) {
    const std::vector<std::uint64_t> h = count(ctx, info.scheme, shape, pair);
    std::uint64_t mass = 0;
    for (std::size_t i = 0; i < h.size(); ++i) {
      mass += h[i];
      ASSERT_NEAR(double(h[i]) / 65536, expected[i], 2e-3);  // about 50 voxels a bin, each rounded by at most 2^-16
    }
    EXPECT_EQ(mass, voxels * 65536);
  }
}

TEST_P(Histogram, GivesTheSameCountsAsTheCpuForAnyThreads) {
  const HistogramShape shape{64, 64, Estimator::parzen};
  const Pair pair = random_pair(200003, 64, 64, 9);
  Context one({}, 1), five({}, 5);
  const auto expected = count(one, HistogramScheme::automatic, shape, pair);
  for (const HistogramSchemeInfo& info : histogram_schemes()) EXPECT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name;
  EXPECT_EQ(count(five, HistogramScheme::automatic, shape, pair), expected);
}

TEST(HistogramSchemes, NamesRoundTrip) {
  for (const HistogramSchemeInfo& info : histogram_schemes()) EXPECT_EQ(parse_histogram_scheme(info.name), info.scheme);
  EXPECT_FALSE(parse_histogram_scheme("fastest"));
}

}  // namespace
}  // namespace freeflow
