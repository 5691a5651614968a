// Voxels that are sampled while they are counted, by every scheme on every device: the counts of
// those sampled first, and partial volumes against an oracle.
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include <array>
#include <cmath>

#include "reference/trilinear.h"
#include "similarity/histogram_scene.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

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
        for (const HistogramSchemeInfo& info : schemes())
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
  for (const HistogramSchemeInfo& info : schemes())
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
    for (const Neighbour& k : around)
      expected.add(scene.bins[i], int(std::lround(k.value)), k.weight);
  }
  const Warp::OnDevice d = scene.on(ctx);
  for (const HistogramSchemeInfo& info : schemes()) {
    if (!info.takes_weights) continue;
    const Counts h = count(ctx, info.scheme, shape, d.pair(false, true), scene.bins.size());
    EXPECT_EQ(mass(h), voxels * 65536) << info.name;
    EXPECT_NEAR(nmi_of(h, shape), expected.entropies().nmi(), nmi_fixed_point) << info.name;
    for (std::size_t i = 0; i < h.size(); ++i)
      ASSERT_NEAR(double(h[i]) / 65536, expected.masses()[i], 3e-3) << info.name;
  }
}

TEST_P(Histogram, OneRowOfManyCellsHasTheWeightsOfEach) {
  Warp scene(32, 24);
  std::fill(scene.bins.begin(), scene.bins.end(), std::uint16_t(3));
  const HistogramShape shape{32, 24, Estimator::partial_volume};
  const Warp::OnDevice here = scene.on(ctx), there = scene.on(cpu);
  const std::size_t n = scene.bins.size();
  const Counts expected = count(cpu, HistogramScheme::automatic, shape, there.pair(false, true), n);
  for (const HistogramSchemeInfo& info : schemes())
    if (info.takes_weights) {
      ASSERT_EQ(count(ctx, info.scheme, shape, here.pair(false, true), n), expected) << info.name;
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
    for (const HistogramSchemeInfo& info : schemes())
      if (takes(info, estimator)) {
        ASSERT_EQ(counted(ctx, info.scheme), expected) << info.name;
      }
  }
}

TEST_P(Histogram, CountingNeitherAllocatesNorWaits) {
  const Warp scene(64, 64);
  const Warp::OnDevice d = scene.on(ctx);
  for (const HistogramSchemeInfo& info : schemes()) {
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

}  // namespace
}  // namespace freeflow
