// Counts of every scheme against an oracle, exact to the last count, on every device, for every
// input and estimator.
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include <array>

#include "reference/joint_density.h"
#include "reference/trilinear.h"
#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

constexpr std::uint16_t no_bin = SampledPair::no_bin;
using Counts = std::vector<std::uint64_t>;

/// Two images on the host, the moving one sampled already.
struct Pair {
  std::vector<std::uint16_t> fixed;
  std::vector<float> moving;
};

Pair random_pair(std::size_t n, int fixed_bins, int moving_bins, unsigned seed) {
  Pair p;
  for (float v : random_values(n, seed, 0, float(fixed_bins)))
    p.fixed.push_back(std::uint16_t(std::min(int(v), fixed_bins - 1)));
  p.moving = random_values(n, seed + 1, 0, float(moving_bins) - 0.51f);
  for (std::size_t i = 0; i < n; i += 37) p.fixed[i] = no_bin;
  for (std::size_t i = 5; i < n; i += 41) p.moving[i] = NAN;
  return p;
}

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

Counts count(Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
             const HistogramInput& input, std::size_t n) {
  Buffer<std::uint64_t> histogram(ctx, shape.bins());
  JointHistogram(ctx, scheme, shape, n).count(ctx, input, histogram.data());
  return histogram.to_host(ctx);
}

Counts count(Context& ctx, HistogramScheme scheme, const HistogramShape& shape, const Pair& pair) {
  const Buffer<std::uint16_t> fixed(ctx, pair.fixed);
  const Buffer<float> moving(ctx, pair.moving);
  return count(ctx, scheme, shape, SampledPair{fixed.data(), moving.data(), pair.fixed.size()},
               pair.fixed.size());
}

Counts hard_oracle(const HistogramShape& shape, const Pair& pair) {
  Counts h(shape.bins());
  for (std::size_t i = 0; i < pair.fixed.size(); ++i)
    if (pair.fixed[i] != no_bin && pair.moving[i] == pair.moving[i])
      h[std::size_t(pair.fixed[i]) * shape.moving_bins +
        std::size_t(std::floor(pair.moving[i] + 0.5f))] += 1;
  return h;
}

std::uint64_t mass(const Counts& h) {
  std::uint64_t sum = 0;
  for (std::uint64_t m : h) sum += m;
  return sum;
}

bool takes(const HistogramSchemeInfo& info, Estimator estimator) {
  return estimator == Estimator::hard || info.takes_weights;
}

class Histogram : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Histogram);

TEST_P(Histogram, HardCountsAreExact) {
  for (const auto& [nf, nm] :
       {std::pair{8, 8}, {64, 64}, {100, 37}, {19, 200}, {128, 128}, {256, 256}})
    for (const std::size_t n : {1u, 511u, 513u, 100003u}) {
      const HistogramShape shape{nf, nm, Estimator::hard};
      const Pair pair = random_pair(n, nf, nm, unsigned(n));
      const Counts expected = hard_oracle(shape, pair);
      for (const HistogramSchemeInfo& info : histogram_schemes())
        ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected)
            << info.name << ' ' << nf << 'x' << nm << ' ' << n;
    }
}

TEST_P(Histogram, EveryNumberOfBinsIsExact) {
  for (int bins = 8; bins <= 256; bins += 31) {
    const HistogramShape shape{bins, 264 - bins, Estimator::hard};
    const Pair pair = structured_pair(60001, shape.fixed_bins, shape.moving_bins);
    const Counts expected = hard_oracle(shape, pair);
    for (const HistogramSchemeInfo& info : histogram_schemes())
      ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name << bins;
  }
}

// 3 million equal pairs overflow 8- and 16-bit bins in every block; 70,000 to a block overflow a
// weighted 32-bit bin.
TEST_P(Histogram, AConstantImageOverflowsNothing) {
  const std::size_t n = filling(GetParam(), 3000001);
  for (const HistogramSchemeInfo& info : histogram_schemes())
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

TEST_P(Histogram, AFewHotBinsAreExact) {
  const std::size_t n = filling(GetParam(), 2000003);
  for (const auto& [nf, nm] : {std::pair{64, 64}, {256, 256}}) {
    const HistogramShape shape{nf, nm, Estimator::hard};
    Pair pair = structured_pair(n, nf, nm);
    for (std::size_t i = 0; i < n; i += 3)
      pair.fixed[i] = std::uint16_t(5 + i / 3 % 4),
      pair.moving[i] = float(4 + i / 3 % 4);  // four bins of one word
    const Counts expected = hard_oracle(shape, pair);
    for (const HistogramSchemeInfo& info : histogram_schemes())
      ASSERT_EQ(count(ctx, info.scheme, shape, pair), expected) << info.name;
  }
}

TEST_P(Histogram, BytePairsAreExact) {
  for (const auto& [nf, nm] : {std::pair{64, 64}, {100, 37}, {256, 256}})
    for (const std::size_t n : {15u, 100003u}) {
      std::vector<std::uint8_t> f, m;
      for (float v : random_values(n, 3, 0, 256)) f.push_back(std::uint8_t(v));
      for (float v : random_values(n, 4, 0, 256)) m.push_back(std::uint8_t(v));
      const HistogramShape shape{nf, nm, Estimator::hard};
      Counts expected(shape.bins());
      const std::size_t offset = n > 1 ? 1 : 0;  // not aligned for vector loads
      for (const std::size_t begin : {std::size_t(0), offset}) {
        std::fill(expected.begin(), expected.end(), 0);
        for (std::size_t i = begin; i < n; ++i)
          if (f[i] < nf && m[i] < nm) ++expected[std::size_t(f[i]) * nm + m[i]];
        const Buffer<std::uint8_t> fixed(ctx, f), moving(ctx, m);
        for (const HistogramSchemeInfo& info : histogram_schemes())
          ASSERT_EQ(count(ctx, info.scheme, shape,
                          BinnedPair{fixed.data() + begin, moving.data() + begin, n - begin}, n),
                    expected)
              << info.name;
      }
    }
}

/// A fixed image, a moving one on another grid, and where they meet.
struct Warp {
  Geometry fixed = plain_geometry({45, 21, 13}), moving = plain_geometry({40, 25, 11});
  std::vector<std::uint16_t> bins;
  std::vector<float> image;
  PointMap map;
  std::vector<float> planes;

  Warp(int fixed_bins, int moving_bins) {
    map.m[0][1] = 0.1f, map.m[1][0] = -0.07f, map.m[0][3] = -1.3f, map.m[1][3] = 2.2f,
    map.m[2][3] = -0.6f;
    bins = random_pair(fixed.extent.count(), fixed_bins, 8, 5).fixed;
    const float top = float(moving_bins - 2);
    image = voxelwise(moving.extent, [&](int x, int y, int z) {
      return 1 + (top - 1) * (0.5 + 0.2 * texture(1.5 * Eigen::Vector3d(x, y, z)));
    });
    for (float& v : image) v = std::clamp(v, 1.0f, top);
    for (std::size_t i = 100; i < image.size(); i += 611) image[i] = NAN;
    planes = field_planes(fixed.extent, [](int x, int y, int z) { return wave(x, y, z, 1.3); });
  }

  struct OnDevice {
    Volume<std::uint16_t> fixed;
    Volume<float> moving, coefficients;
    DisplacementField u;
    PointMap map;
    WarpedPair pair(bool cubic, bool displaced) const {
      return {fixed.view(), moving.view(), map,
              displaced ? u.view() : FieldView<const float>{nullptr, fixed.extent()},
              cubic ? coefficients.view() : VolumeView<const float>{}};
    }
  };
  OnDevice on(Context& ctx) const {
    std::vector<float> finite = image;
    for (float& v : finite) v = v == v ? v : 0;
    OnDevice d{
        {ctx, fixed, bins}, {ctx, moving, image}, {ctx, moving, finite}, {ctx, fixed, planes}, map};
    bspline_prefilter(ctx, d.coefficients.view());
    return d;
  }
  Eigen::Vector3d position(std::size_t i, bool displaced) const {
    const std::size_t n = bins.size();
    Eigen::Vector3d q(double(i % 45), double(i / 45 % 21), double(i / 945)), p;
    if (displaced) q += Eigen::Vector3d(planes[i], planes[i + n], planes[i + 2 * n]);
    for (int r = 0; r < 3; ++r)
      p[r] = map.m[r][0] * q.x() + map.m[r][1] * q.y() + map.m[r][2] * q.z() + map.m[r][3];
    return p;
  }
};

TEST_P(Histogram, WarpingWhileCountingEqualsWarpingFirst) {
  for (int bins : {64, 256}) {
    const Warp scene(bins, bins);
    Warp::OnDevice d = scene.on(ctx);
    for (bool displaced : {false, true}) {
      Volume<float> warped(ctx, scene.fixed);
      warp_values(ctx, d.pair(false, true).moving, d.map, d.pair(false, displaced).u,
                  warped.view());
      const Pair sampled{scene.bins, warped.to_host(ctx)};
      for (Estimator estimator : {Estimator::hard, Estimator::parzen, Estimator::parzen_both}) {
        const HistogramShape shape{bins, bins, estimator};
        const Counts expected = count(cpu, HistogramScheme::automatic, shape, sampled);
        for (const HistogramSchemeInfo& info : histogram_schemes())
          if (takes(info, estimator)) {
            ASSERT_EQ(count(ctx, info.scheme, shape, d.pair(false, displaced), scene.bins.size()),
                      expected)
                << info.name << bins;
          }
      }
    }
  }
}

TEST_P(Histogram, TricubicSamplesAreThoseOfTheWarp) {
  const Warp scene(32, 48);
  Warp::OnDevice d = scene.on(ctx), host = scene.on(cpu);
  const DisplacementField u(cpu, scene.fixed, scene.planes);
  Geometry moving = scene.moving;
  const Eigen::Affine3d map = [&] {
    Eigen::Affine3d a = Eigen::Affine3d::Identity();
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 4; ++c) a.matrix()(r, c) = scene.map.m[r][c];
    return a;
  }();
  const Volume<float> warped = warp(cpu, Volume<float>(cpu, moving, scene.image), scene.fixed, map,
                                    &u, Interpolation::cubic, NAN);
  Pair sampled{scene.bins, warped.to_host(cpu)};
  for (float& v : sampled.moving) v = std::clamp(v, 0.0f, 47.0f);
  const HistogramShape shape{32, 48, Estimator::hard};
  const Counts expected = hard_oracle(shape, sampled);
  for (const HistogramSchemeInfo& info : histogram_schemes())
    ASSERT_EQ(count(ctx, info.scheme, shape, d.pair(true, true), scene.bins.size()), expected)
        << info.name;
}

/// The eight voxels around a place, with the weights of Shams 2010, eq. 9.
struct Neighbour {
  float value;
  double weight;
};
std::array<Neighbour, 8> neighbours(const Warp& scene, const Eigen::Vector3d& p) {
  const Extent n = scene.moving.extent;
  const Eigen::Vector3d q =
      p.cwiseMax(Eigen::Vector3d::Zero()).cwiseMin(Eigen::Vector3d(n.x - 1, n.y - 1, n.z - 1));
  std::array<Neighbour, 8> all;
  for (int k = 0; k < 8; ++k) {
    const int x = std::min(int(q.x()), n.x - 2) + (k & 1),
              y = std::min(int(q.y()), n.y - 2) + (k >> 1 & 1),
              z = std::min(int(q.z()), n.z - 2) + (k >> 2);
    all[k] = {scene.image[(std::size_t(z) * n.y + y) * n.x + x],
              (1 - std::abs(q.x() - x)) * (1 - std::abs(q.y() - y)) * (1 - std::abs(q.z() - z))};
  }
  return all;
}

/// NMI of fixed-point masses, in double.
double nmi_of(const Counts& h, const HistogramShape& shape) {
  reference::JointDensity p(shape.fixed_bins, shape.moving_bins);
  for (std::size_t i = 0; i < h.size(); ++i)
    p.add(int(i / shape.moving_bins), int(i % shape.moving_bins), double(h[i]));
  return p.entropies().nmi();
}

TEST_P(Histogram, PartialVolumeSpreadsTrilinearWeights) {
  const Warp scene(32, 24);
  const HistogramShape shape{32, 24, Estimator::partial_volume};
  reference::JointDensity expected(32, 24);
  std::uint64_t voxels = 0;
  for (std::size_t i = 0; i < scene.bins.size(); ++i) {
    const Eigen::Vector3d p = scene.position(i, true);
    const Extent n = scene.moving.extent;
    const bool inside =
        (p.array() >= -0.5).all() && p.x() <= n.x - 0.5 && p.y() <= n.y - 0.5 && p.z() <= n.z - 0.5;
    if (scene.bins[i] == no_bin || !inside) continue;
    const auto around = neighbours(scene, p);
    if (std::any_of(around.begin(), around.end(),
                    [](const Neighbour& k) { return std::isnan(k.value); }))
      continue;
    ++voxels;
    for (const Neighbour& k : around) expected.add(scene.bins[i], int(k.value + 0.5f), k.weight);
  }
  const Warp::OnDevice d = scene.on(ctx);
  for (const HistogramSchemeInfo& info : histogram_schemes()) {
    if (!info.takes_weights) continue;
    const Counts h = count(ctx, info.scheme, shape, d.pair(false, true), scene.bins.size());
    EXPECT_EQ(mass(h), voxels * 65536) << info.name;
    EXPECT_NEAR(nmi_of(h, shape), expected.entropies().nmi(), nmi_fixed_point) << info.name;
    for (std::size_t i = 0; i < h.size(); ++i)
      ASSERT_NEAR(double(h[i]) / 65536, expected.masses()[i], 3e-3) << info.name;
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
    for (const HistogramSchemeInfo& info : histogram_schemes()) {
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

TEST_P(Histogram, GivesTheSameCountsAsTheCpuForAnyThreads) {
  const Warp scene(64, 64);
  Context one({}, 1), five({}, 5);
  for (Estimator estimator :
       {Estimator::hard, Estimator::parzen, Estimator::parzen_both, Estimator::partial_volume}) {
    const HistogramShape shape{64, 64, estimator};
    const auto counted = [&](Context& c, HistogramScheme scheme) {
      const Warp::OnDevice d = scene.on(c);
      return count(c, scheme, shape, d.pair(false, true), scene.bins.size());
    };
    const Counts expected = counted(one, HistogramScheme::automatic);
    EXPECT_EQ(counted(five, HistogramScheme::automatic), expected);
    for (const HistogramSchemeInfo& info : histogram_schemes())
      if (takes(info, estimator)) {
        ASSERT_EQ(counted(ctx, info.scheme), expected) << info.name;
      }
  }
}

TEST_P(Histogram, CountingNeitherAllocatesNorWaits) {
  const Warp scene(64, 64);
  const Warp::OnDevice d = scene.on(ctx);
  for (const HistogramSchemeInfo& info : histogram_schemes()) {
    const HistogramShape shape{64, 64,
                               info.takes_weights ? Estimator::parzen_both : Estimator::hard};
    Buffer<std::uint64_t> histogram(ctx, shape.bins());
    const std::size_t before = ctx.statistics().bytes_in_use;
    JointHistogram joint(ctx, info.scheme, shape, scene.bins.size());
    EXPECT_LE(ctx.statistics().bytes_in_use - before,
              histogram_bytes(ctx, info.scheme, shape, scene.bins.size()) + 512)
        << info.name;
    const ContextStatistics s = ctx.statistics();
    joint.count(ctx, d.pair(false, true), histogram.data());
    EXPECT_EQ(ctx.statistics().allocations, s.allocations) << info.name;
    EXPECT_EQ(ctx.statistics().synchronizations, s.synchronizations) << info.name;
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
