// The scores of many linear maps against plain counts in double.
#include <freeflow/similarity/candidate_scores.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/grid.h"
#include "reference/intensity_range.h"
#include "reference/joint_density.h"
#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;
using Eigen::Vector3d;

constexpr int bins = CandidateNmi::bins;

/// A pair on different oblique grids, clipped so that their ranges are their extremes.
struct Candidates {
  Geometry fixed = oblique_geometry({21, 19, 11}, {1, 1.2, 2}),
           moving = oblique_geometry({25, 18, 14}, {0.9, 1.3, 1.8});
  std::vector<float> f, m;
  reference::Range f_range, m_range;

  Candidates() {
    Context cpu;
    f = sample_world(cpu, fixed, texture).to_host(cpu);
    m = sample_world(cpu, moving, [](const Vector3d& p) {
          return std::exp(-0.5 * texture(p));
        }).to_host(cpu);
    clip();
  }
  void clip() {
    f_range = reference::clip_tails(f);
    m_range = reference::clip_tails(m);
  }

  double moving_at(const Vector3d& p, CandidateSampling sampling) const {
    const reference::Image image{moving.extent, m};
    if (sampling == CandidateSampling::linear) return reference::trilinear(image, p);
    for (int a = 0; a < 3; ++a)
      if (!(p[a] >= -0.5 && p[a] <= moving.extent[a] - 0.5))
        return std::numeric_limits<double>::quiet_NaN();
    const auto nearest = [&](int a) {
      return std::clamp(int(std::floor(p[a] + 0.5)), 0, moving.extent[a] - 1);
    };
    return image.at(nearest(0), nearest(1), nearest(2));
  }

  /// Of a map of the world, fixed point to moving point.
  CandidateScore score(const Eigen::Affine3d& world, CandidateSampling sampling) const {
    reference::JointDensity counts(bins, bins);
    double valid = 0, pairs = 0;
    std::size_t i = 0;
    for (int z = 0; z < fixed.extent.z; ++z)
      for (int y = 0; y < fixed.extent.y; ++y)
        for (int x = 0; x < fixed.extent.x; ++x, ++i) {
          if (std::isnan(f[i])) continue;
          valid += 1;
          const Vector3d at = world * reference::world_of(fixed, Vector3d(x, y, z));
          const double v = moving_at(reference::index_of(moving, at), sampling);
          if (std::isnan(v)) continue;
          pairs += 1;
          counts.add(int(std::lround(f_range.share(f[i]) * (bins - 1))),
                     int(std::lround(1 + m_range.share(v) * (bins - 3))), 1.0);
        }
    return {pairs > 0 ? -counts.entropies().nmi() : 0.0, pairs / valid};
  }

  PointMap map(const Eigen::Affine3d& world) const { return index_map(fixed, world, moving); }
};

Eigen::Affine3d turned(double angle, const Vector3d& shift) {
  return Eigen::Translation3d(shift) *
         Eigen::Affine3d(Eigen::AngleAxisd(angle, Vector3d(1, -2, 1).normalized()));
}

class CandidateScores : public OnDevice {
 protected:
  std::vector<CandidateScore> scores(const Candidates& s, const std::vector<PointMap>& maps,
                                     CandidateSampling sampling, double smallest_overlap = 0,
                                     int at_once = 4) {
    const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
    return CandidateNmi(ctx, f, m, at_once).score(ctx, maps, sampling, smallest_overlap);
  }
};
FREEFLOW_ON_EVERY_DEVICE(CandidateScores);

/// On one grid, by whole voxels, with intensities in the middle of their bins, nothing is rounded.
TEST_P(CandidateScores, AreThoseOfTheCounts) {
  Candidates s;
  s.moving = s.fixed;
  s.moving.direction.setIdentity();
  s.fixed = s.moving;
  s.f = random_values(s.fixed.extent.count(), 3, 0, 31.99f);
  for (float& v : s.f) v = std::floor(v);
  s.m = s.f;
  for (float& v : s.m) v = std::min(std::abs(v - 7), 20.0f) + 9;
  s.m[5] = 38;  // 9 to 38: 29 steps, as the moving image has bins between the first and last
  s.m[6] = s.m[7] = s.m[8] = s.m[9] = s.m[10] = 38;
  for (std::size_t i = 40; i < s.f.size(); i += 97) s.f[i] = NAN;
  for (std::size_t i = 70; i < s.m.size(); i += 89) s.m[i] = NAN;
  s.f_range = {0, 31};
  s.m_range = {9, 38};
  std::vector<PointMap> maps;
  std::vector<CandidateScore> expected;
  for (const Vector3d& voxels : {Vector3d(0, 0, 0), Vector3d(1, 0, 0), Vector3d(-3, 2, 1),
                                 Vector3d(0, -7, 4), Vector3d(15, 12, 7), Vector3d(0, 0, -11)}) {
    const Eigen::Affine3d world(Eigen::Translation3d(voxels.cwiseProduct(s.fixed.spacing)));
    maps.push_back(s.map(world));
    expected.push_back(s.score(world, CandidateSampling::nearest));
  }
  const std::vector<CandidateScore> found = scores(s, maps, CandidateSampling::nearest);
  ASSERT_EQ(found.size(), maps.size());
  for (std::size_t i = 0; i < maps.size(); ++i) {
    EXPECT_NEAR(found[i].cost, expected[i].cost, 1e-12) << i;
    EXPECT_NEAR(found[i].overlap, expected[i].overlap, 1e-12) << i;
    EXPECT_GE(found[i].cost, found[0].cost) << "no other map has the functional relation";
  }
  EXPECT_EQ(found[5].overlap, 0);
  EXPECT_EQ(found[5].cost, 0);
}

TEST_P(CandidateScores, AreThoseOfTheCountsThroughAnyMap) {
  const Candidates s;
  std::vector<PointMap> maps;
  std::vector<Eigen::Affine3d> worlds;
  for (int i = 0; i < 11; ++i) {
    worlds.push_back(turned(0.3 * i, {0.53 * i - 1.07, 0.71 - 0.3 * i, 0.37 * i}));
    maps.push_back(s.map(worlds.back()));
  }
  for (const CandidateSampling sampling : {CandidateSampling::nearest, CandidateSampling::linear}) {
    const std::vector<CandidateScore> found = scores(s, maps, sampling),
                                      alone = scores(s, maps, sampling, 0, 1);
    ASSERT_EQ(found.size(), maps.size());
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const CandidateScore expected = s.score(worlds[i], sampling);
      // A voxel on the edge of two bins, or half way between two voxels, may fall on either side.
      EXPECT_NEAR(found[i].cost, expected.cost, 1e-3) << i;
      EXPECT_NEAR(found[i].overlap, expected.overlap, 1e-3) << i;
      EXPECT_EQ(found[i].cost, alone[i].cost) << "whatever is counted with it";
      EXPECT_EQ(found[i].overlap, alone[i].overlap);
    }
  }
}

TEST_P(CandidateScores, WhatHardlyOverlapsIsNotScored) {
  const Candidates s;
  const std::vector<PointMap> maps{s.map(Eigen::Affine3d::Identity()), s.map(turned(0, {9, 8, 6})),
                                   s.map(turned(0, {500, 0, 0}))};
  const std::vector<CandidateScore> all = scores(s, maps, CandidateSampling::linear);
  ASSERT_GT(all[0].overlap, 0.5);
  ASSERT_LT(all[1].overlap, 0.5);
  ASSERT_GT(all[1].overlap, 0);
  ASSERT_LT(all[1].cost, 0);
  const std::vector<CandidateScore> some = scores(s, maps, CandidateSampling::linear, 0.5);
  EXPECT_EQ(some[0].cost, all[0].cost);
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(some[i].cost, 0);
    EXPECT_EQ(some[i].overlap, all[i].overlap);
  }
}

TEST_P(CandidateScores, AreTheSameBitsAsTheCpusForAnyThreads) {
  const Candidates s;
  std::vector<PointMap> maps;
  maps.reserve(9);
  for (int i = 0; i < 9; ++i) maps.push_back(s.map(turned(0.2 * i, {0.4 * i, 0, 1})));
  Context one({}, 1);
  const auto of = [&](Context& c, CandidateSampling sampling) {
    const Volume<float> f(c, s.fixed, s.f), m(c, s.moving, s.m);
    std::vector<double> all;
    for (const CandidateScore& x : CandidateNmi(c, f, m, 5).score(c, maps, sampling, 0.1)) {
      all.push_back(x.cost);
      all.push_back(x.overlap);
    }
    return all;
  };
  for (const CandidateSampling sampling : {CandidateSampling::nearest, CandidateSampling::linear}) {
    const std::vector<double> expected = of(one, sampling);
    EXPECT_EQ(of(ctx, sampling), expected);
    EXPECT_EQ(of(cpu, sampling), expected);
  }
}

}  // namespace
}  // namespace freeflow
