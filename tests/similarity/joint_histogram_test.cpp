// Counts of every scheme against an oracle, exact to the last count, on every device, of images
// that are sampled already.
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include <span>

#include "similarity/histogram_scene.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

Pair constant_pair(std::size_t n) {
  return {std::vector<std::uint16_t>(n, 3), std::vector<float>(n, 2.25f)};
}

/// Flat background, flat regions of different sizes, noise around the diagonal: what medical images
/// look like.
Pair structured_pair(std::size_t n, int fixed_bins, int moving_bins) {
  Pair p{std::vector<std::uint16_t>(n), std::vector<float>(n)};
  const std::vector<float> noise = random_values(n, 77, -2, 2);
  for (std::size_t i = 0; i < n; ++i) {
    const double tissue = i % 1000 < 400 ? 0 : 0.2 + 0.6 * double(i / 5000 % 7) / 7;
    p.fixed[i] = std::uint16_t(tissue * fixed_bins);
    p.moving[i] = tissue == 0 ? 0.0f
                              : std::clamp(float(tissue * moving_bins) + noise[i], 0.0f,
                                           float(moving_bins - 1));
  }
  return p;
}

FREEFLOW_ON_EVERY_DEVICE(Histogram);

// 19 x 201: an odd number of bins. 249 x 254: more than a block's shared memory, and the shares of
// rows differ.
TEST_P(Histogram, HardCountsAreExact) {
  for (const auto& [nf, nm] :
       {std::pair{8, 8}, {64, 64}, {100, 37}, {19, 201}, {128, 128}, {249, 254}, {256, 256}})
    for (const std::size_t n : {1u, 511u, 513u, 100003u}) {
      if (nf > 128 && n < 1000) continue;  // seconds each on the emulated device
      const HistogramShape shape{nf, nm, Estimator::hard};
      const Pair pair = random_pair(n, nf, nm, unsigned(n));
      const Counts expected = hard_oracle(shape, pair);
      for (const HistogramSchemeInfo& info : schemes())
        ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected)
            << info.name << ' ' << nf << 'x' << nm << ' ' << n;
    }
}

// Several partial histograms side by side: one row too many of the last share lies in the next one.
// Three times, so that blocks run in either order.
TEST_P(Histogram, UnequalSharesOfRowsAreExact) {
  const OneProcessor own;  // its number is given back
  setenv(OneProcessor::variable, "4", 1);
  const HistogramShape shape{249, 254, Estimator::hard};
  const Pair pair = random_pair(20003, shape.fixed_bins, shape.moving_bins, 2);
  const Counts expected = hard_oracle(shape, pair);
  for (const HistogramSchemeInfo& info : schemes()) {
    if (info.scheme == HistogramScheme::thread_private) continue;  // a pass after the other, slowly
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name;
  }
}

TEST_P(Histogram, EveryNumberOfBinsIsExact) {
  for (int bins = 8; bins <= 256; bins += 31) {
    const HistogramShape shape{bins, 264 - bins, Estimator::hard};
    const Pair pair = structured_pair(60001, shape.fixed_bins, shape.moving_bins);
    const Counts expected = hard_oracle(shape, pair);
    for (const HistogramSchemeInfo& info : schemes())
      ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name << bins;
  }
}

// 3 million equal pairs overflow 8- and 16-bit bins in every block; 70,000 to a block overflow a
// weighted 32-bit bin.
TEST_P(Histogram, AConstantImageOverflowsNothing) {
  const std::size_t n = filling(GetParam(), 3000001);
  for (const HistogramSchemeInfo& info : schemes())
    for (int bins : {64, 256})
      for (Estimator estimator : {Estimator::hard, Estimator::parzen}) {
        if (!takes(info, estimator)) continue;
        const HistogramShape shape{bins, bins, estimator};
        const Counts h = count(ctx, info.scheme, shape, constant_pair(n));
        ASSERT_EQ(mass(h), n * shape.unit()) << info.name;
        if (estimator == Estimator::hard) {
          ASSERT_EQ(h[3 * std::size_t(bins) + 2], n) << info.name;
        }
      }
}

// Bins of one warp: 16 bits hold 65,535 voxels, 32 bits the masses of 107,000 at this value.
TEST_P(Histogram, AConstantImageOverflowsNoWarpsBins) {
  const OneProcessor few;
  for (const HistogramSchemeInfo& info : schemes()) {
    const bool packed = info.scheme == HistogramScheme::multi_bin_cache ||
                        info.scheme == HistogramScheme::multi_bin_skip;
    if (!packed && info.scheme != HistogramScheme::warp_private) continue;
    const std::size_t n = filling_warps(GetParam(), packed ? 70001 : 110001);
    const HistogramShape shape{16, 16, packed ? Estimator::hard : Estimator::parzen};
    const Counts h = count(ctx, info.scheme, shape, constant_pair(n)),
                 one = count(cpu, HistogramScheme::automatic, shape, constant_pair(1));
    for (std::size_t i = 0; i < h.size(); ++i) ASSERT_EQ(h[i], n * one[i]) << info.name << ' ' << i;
  }
}

TEST_P(Histogram, AFewHotBinsAreExact) {
  const std::size_t n = filling(GetParam(), 2000003);
  for (const auto& [nf, nm] : {std::pair{64, 64}, {256, 256}}) {
    const HistogramShape shape{nf, nm, Estimator::hard};
    Pair pair = structured_pair(n, nf, nm);
    for (std::size_t i = 0; i < n; i += 3)  // eight bins side by side: four of one packed word
      pair.fixed[i] = 5, pair.moving[i] = float(4 + i / 3 % 8);
    const Counts expected = hard_oracle(shape, pair);
    for (const HistogramSchemeInfo& info : schemes())
      ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name;
  }
}

/// Bytes up to `most`; every hundredth is `most` itself.
std::vector<std::uint8_t> random_bytes(std::size_t n, unsigned seed, int most) {
  std::vector<std::uint8_t> bytes;
  for (float v : random_values(n, seed, 0, float(most))) bytes.push_back(std::uint8_t(v));
  for (std::size_t i = seed; i < n; i += 100) bytes[i] = std::uint8_t(std::min(most, 255));
  return bytes;
}

Counts byte_oracle(const HistogramShape& shape, std::span<const std::uint8_t> fixed,
                   std::span<const std::uint8_t> moving) {
  Counts h(shape.bins());
  for (std::size_t i = 0; i < fixed.size(); ++i)
    if (fixed[i] < shape.fixed_bins && moving[i] < shape.moving_bins)
      ++h[std::size_t(fixed[i]) * shape.moving_bins + moving[i]];
  return h;
}

// Values far beyond the bins, and values that are just beyond them in one of many voxels: what
// looks at several voxels at once must see both.
TEST_P(Histogram, BytePairsAreExact) {
  for (const auto& [nf, nm] : {std::pair{64, 64}, {100, 37}, {128, 120}, {200, 250}, {256, 256}})
    for (const bool far : {false, true})
      for (const std::size_t n : {15u, 50003u}) {
        const std::vector<std::uint8_t> f = random_bytes(n, 3, far ? 256 : nf),
                                        m = random_bytes(n, 4, far ? 256 : nm);
        const HistogramShape shape{nf, nm, Estimator::hard};
        const Buffer<std::uint8_t> fixed(ctx, f), moving(ctx, m);
        for (const std::size_t begin : {0u, 1u}) {  // 1: not aligned for vector loads
          const Counts expected =
              byte_oracle(shape, std::span(f).subspan(begin), std::span(m).subspan(begin));
          for (const HistogramSchemeInfo& info : schemes()) {
            // a block of threads for every bin: seconds each on the emulated device
            if (info.scheme == HistogramScheme::thread_private && nf > 128 && (n < 1000 || begin))
              continue;
            ASSERT_EQ(count(ctx, info.scheme, shape,
                            BinnedPair{fixed.data() + begin, moving.data() + begin, n - begin}, n),
                      expected)
                << info.name << ' ' << nf << 'x' << nm;
          }
        }
      }
}

TEST_P(Histogram, ParzenMassIsExactAndTheFixedPointDoesNotShowInNmi) {
  const std::size_t n = 200011;
  for (Estimator estimator : {Estimator::parzen, Estimator::parzen_both}) {
    const HistogramShape shape{32, 48, estimator};
    Pair pair = random_pair(n, 32, 48, 4);
    for (std::size_t i = 0; i < n; ++i)  // dependent, so that NMI is not about 1
      if (pair.fixed[i] != no_bin && i % 3)
        pair.moving[i] =
            std::clamp(1.4f * float(pair.fixed[i]) + std::fmod(pair.moving[i], 3.0f), 0.0f, 47.0f);
    reference::JointDensity expected(32, 48);
    std::uint64_t voxels = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (pair.fixed[i] == no_bin || pair.moving[i] != pair.moving[i]) continue;
      ++voxels;
      expected.add_window(pair.fixed[i], std::clamp(double(pair.moving[i]), 1.0, 46.0),
                          estimator == Estimator::parzen_both);
    }
    for (const HistogramSchemeInfo& info : schemes()) {
      if (!info.takes_weights) continue;
      const Counts h = count(ctx, info.scheme, shape, pair);
      EXPECT_EQ(mass(h), voxels * shape.unit());
      for (std::size_t i = 0; i < h.size(); ++i)
        ASSERT_NEAR(double(h[i]) / double(shape.unit()), expected.masses()[i],
                    2e-2);  // up to 1500 voxels a bin, each rounded by at most 2^-17
      EXPECT_NEAR(nmi_of(h, shape), expected.entropies().nmi(), nmi_fixed_point) << info.name;
    }
  }
}

// A warp of one value adds once where it has one row too, by a lane that counts; else every lane.
TEST_P(Histogram, OneValueInManyRowsWeighsInEach) {
  const HistogramShape shape{64, 64, Estimator::parzen};
  for (const int rows : {1, 64}) {
    Pair pair = random_pair(5003, rows, 64, 8);
    for (std::size_t i = 0; i < pair.moving.size(); ++i) pair.moving[i] = i % 3 == 1 ? NAN : 2.25f;
    const Counts expected = count(cpu, HistogramScheme::automatic, shape, pair);
    for (const HistogramSchemeInfo& info : schemes())
      if (info.takes_weights) {
        ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name << ' ' << rows;
      }
  }
}

TEST(HistogramSchemes, NamesRoundTrip) {
  for (const HistogramSchemeInfo& info : histogram_schemes())
    EXPECT_EQ(parse_histogram_scheme(info.name), info.scheme);
  EXPECT_EQ(parse_histogram_scheme("multi_bin"), HistogramScheme::multi_bin_cache);
  EXPECT_FALSE(parse_histogram_scheme("fastest"));
}

TEST(HistogramSchemes, RefuseWhatTheyCannotTake) {
  Context cpu;
  EXPECT_THROW(JointHistogram(cpu, HistogramScheme::banded, {64, 64, Estimator::parzen}, 1),
               InvalidArgument);
  EXPECT_THROW(JointHistogram(cpu, HistogramScheme::automatic, {64, 257, Estimator::hard}, 1),
               InvalidArgument);
  JointHistogram soft(cpu, HistogramScheme::automatic, {64, 64, Estimator::partial_volume}, 1);
  Buffer<std::uint64_t> h(cpu, 4096);
  EXPECT_THROW(soft.count(cpu, SampledPair{nullptr, nullptr, 0}, h.data()), InvalidArgument);
  EXPECT_THROW(soft.count(cpu, BinnedPair{nullptr, nullptr, 0}, h.data()), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
