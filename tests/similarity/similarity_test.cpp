// Values against double-precision oracles, forces against central differences of those oracles,
// masks and ranges.
#include <freeflow/core/side_by_side.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/overlap.h>
#include <freeflow/similarity/ssd.h>

#include <memory>

#include "similarity/information_scene.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class SsdOracle {
 public:
  explicit SsdOracle(const Scene& s) : s_(s) {
    scale_ = 1 / std::max<double>(s.f_range.high - s.f_range.low, s.m_range.high - s.m_range.low);
    for (std::size_t i = 0; i < s.f.size(); ++i) {
      squares_.push_back(square(i, Eigen::Vector3d::Zero()));
      if (std::isnan(squares_[i])) continue;
      sum_ += squares_[i];
      count_ += 1;
    }
  }
  double cost() const { return sum_ / count_; }
  double cost_with(std::size_t i, const Eigen::Vector3d& extra) const {
    return (sum_ - squares_[i] + square(i, extra)) / count_;
  }

 private:
  double square(std::size_t i, const Eigen::Vector3d& extra) const {
    return std::pow(scale_ * (s_.f[i] - s_.warped(i, extra)), 2);
  }
  const Scene& s_;
  double scale_, sum_ = 0, count_ = 0;
  std::vector<double> squares_;
};

class Similarity : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Similarity);

constexpr Information every_measure[] = {Information::nmi, Information::mi,
                                         Information::conditional_moving,
                                         Information::conditional_fixed};

TEST_P(Similarity, InformationMatchesTheOracleAndItsForceTheDifferences) {
  const Scene s;
  for (Estimator estimator : {Estimator::parzen, Estimator::parzen_both, Estimator::partial_volume})
    for (Information measure : every_measure)
      for (const auto& [nf, nm] : {std::pair{16, 16}, {24, 40}}) {
        const MutualInformationOptions options{measure, nf, nm, estimator};
        MutualInformation information(options);
        const InformationOracle oracle(s, options);
        const Evaluated e = evaluate(ctx, information, s);
        const std::string what = std::to_string(int(estimator)) + ' ' +
                                 std::to_string(int(measure)) + ' ' + std::to_string(nf);
        EXPECT_NEAR(e.cost, oracle.cost(), nmi_fixed_point * 10)
            << what;  // 10: float bins of the warped image on only 4000 voxels
        EXPECT_LT(relative_force_error(s, oracle, e.force), gradient_relative) << what;
      }
}

TEST_P(Similarity, SlabsOfInformationGiveTheBitsOfTheWhole) {
  const Scene s;
  const Extent n = s.fixed.extent;
  const std::size_t slice = std::size_t(n.x) * n.y;
  for (Estimator estimator :
       {Estimator::parzen, Estimator::parzen_both, Estimator::partial_volume, Estimator::hard}) {
    const MutualInformationOptions options{Information::nmi, 24, 40, estimator};
    MutualInformation whole(options), parts(options);
    const Evaluated expected = evaluate(ctx, whole, s);
    evaluate(ctx, parts, s);  // what an evaluation before has left does not count
    const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
    parts.prepare(ctx, {f, m, s.map});
    const auto planes_of = [&](int first, int slices) {
      std::vector<float> planes;
      for (int c = 0; c < 3; ++c) {
        const auto from = s.planes.begin() + std::ptrdiff_t(c * n.count() + first * slice);
        planes.insert(planes.end(), from, from + std::ptrdiff_t(slices * slice));
      }
      return planes;
    };
    std::vector<float> force(3 * n.count());
    Buffer<double> cost(ctx, 1);
    const auto for_slabs = [&](auto g) {
      for (int first = 0; first < n.z; first += 4) {
        Geometry slab = s.fixed;
        slab.extent.z = std::min(4, n.z - first);
        const DisplacementField u(ctx, slab, planes_of(first, slab.extent.z));
        g(first, u);
      }
    };
    std::vector<Context> of_parts = ctx.parts();
    parts.begin(ctx);
    for_slabs([&](int first, const DisplacementField& u) {
      const std::size_t part = std::size_t(first / 4) % of_parts.size();
      const SideBySide together(ctx);
      parts.count(of_parts[part], int(part), first, u.view());
    });
    parts.conclude(ctx, cost.data());
    for_slabs([&](int first, const DisplacementField& u) {
      DisplacementField out(ctx, u.geometry());
      parts.force(ctx, first, u.view(), out.view());
      const std::vector<float> found = out.to_host(ctx);
      const std::size_t size = u.extent().count();
      for (int c = 0; c < 3; ++c)
        std::copy_n(found.begin() + std::ptrdiff_t(c * size), size,
                    force.begin() + std::ptrdiff_t(c * n.count() + first * slice));
    });
    EXPECT_EQ(cost.to_host(ctx)[0], expected.cost) << int(estimator);
    EXPECT_TRUE(force == expected.force) << int(estimator);
  }
}

// parzen_both quantises the fixed image before it smooths. Against windows about the intensities
// themselves that adds 0.0066, 0.0019 and 0.0006 to the cost of this pair, less as the square of
// the bins' width, and at most a quarter of what a window over the fixed axis changes at all.
TEST_P(Similarity, ParzenOnBothAxesIsNearItsTrueWindows) {
  const Scene s;
  for (const auto& [bins, largest] : {std::pair{16, 0.0075}, {32, 0.0022}, {64, 0.0008}}) {
    MutualInformationOptions options{Information::nmi, bins, bins, Estimator::parzen_both};
    MutualInformation information(options);
    const double cost = evaluate(ctx, information, s).cost,
                 error = cost - InformationOracle(s, options).cost_of_true_windows();
    EXPECT_LT(std::abs(error), largest) << bins;
    options.estimator = Estimator::parzen;
    MutualInformation one(options);
    EXPECT_LT(4 * std::abs(error), std::abs(evaluate(ctx, one, s).cost - cost)) << bins;
  }
}

TEST_P(Similarity, EntropiesAreThoseOfTheOracle) {
  const Scene s;
  const MutualInformationOptions options{Information::nmi, 20, 32, Estimator::parzen};
  MutualInformation nmi(options);
  evaluate(ctx, nmi, s);
  const EntropyValues h = nmi.entropies(ctx);
  const auto expected = InformationOracle(s, options).entropies();
  EXPECT_NEAR(h.fixed, expected.fixed, 1e-5);
  EXPECT_NEAR(h.moving, expected.moving, 1e-5);
  EXPECT_NEAR(h.joint, expected.joint, 1e-5);
  EXPECT_NEAR(h.moving_given_fixed(), expected.joint - expected.fixed, 1e-5);
  EXPECT_NEAR(h.fixed_given_moving(), expected.joint - expected.moving, 1e-5);
  EXPECT_NEAR(h.mutual_information(), expected.mi(), 1e-5);
}

TEST_P(Similarity, IntensityDerivativeMatchesTheDifferences) {
  const Scene s;
  for (Estimator estimator : {Estimator::parzen, Estimator::parzen_both})
    for (Information measure : every_measure) {
      const MutualInformationOptions options{measure, 24, 32, estimator};
      MutualInformation information(options);
      evaluate(ctx, information, s);
      const InformationOracle oracle(s, options);
      Volume<float> derivative(ctx, s.fixed);
      Buffer<double> cost(ctx, 1);
      const DisplacementField u(ctx, s.fixed, s.planes);
      information.intensity_derivative(ctx, u.view(), derivative.view(), cost.data());
      const std::vector<float> d = derivative.to_host(ctx);
      double error = 0, norm = 0;
      const double h = 1e-5 * (s.m_range.high - s.m_range.low);
      for (std::size_t i = 0; i < d.size(); i += 7) {
        const double v = s.warped(i, Eigen::Vector3d::Zero());
        if (std::isnan(v)) {
          EXPECT_EQ(d[i], 0.0f);
          continue;
        }
        if (v < s.m_range.low + 2 * h || v > s.m_range.high - 2 * h) continue;  // clipped there
        const double expected =
            (oracle.cost_with_intensity(i, h) - oracle.cost_with_intensity(i, -h)) / (2 * h);
        error += std::pow(expected - d[i], 2);
        norm += expected * expected;
      }
      EXPECT_LT(std::sqrt(error / norm), gradient_relative);
    }
}

// Counts have no derivative; the force of the counts smoothed afterwards must point where that of a
// smooth estimate does.
TEST_P(Similarity, HardEstimateHasTheValueOfTheCountsAndASmoothForce) {
  const Scene s;
  const MutualInformationOptions options{Information::mi, 32, 32, Estimator::hard};
  MutualInformation hard(options), soft({Information::mi, 32, 32, Estimator::parzen_both});
  const Evaluated e = evaluate(ctx, hard, s), smooth = evaluate(ctx, soft, s);
  EXPECT_NEAR(e.cost, InformationOracle(s, options).cost(),
              2e-3);  // a voxel on the edge of two bins may fall on either side
  double dot = 0, a = 0, b = 0;
  for (std::size_t i = 0; i < e.force.size(); ++i) {
    dot += double(e.force[i]) * smooth.force[i];
    a += double(e.force[i]) * e.force[i];
    b += double(smooth.force[i]) * smooth.force[i];
  }
  EXPECT_GT(dot / std::sqrt(a * b), 0.98);
  EXPECT_NEAR(std::sqrt(a / b), 1, 0.1);
}

TEST_P(Similarity, EverySchemeGivesTheSameNmi) {
  const Scene s;
  for (Estimator estimator : {Estimator::hard, Estimator::parzen, Estimator::partial_volume}) {
    std::vector<Evaluated> all;
    for (const HistogramSchemeInfo& info : histogram_schemes()) {
      if (estimator != Estimator::hard && !info.takes_weights) {
        EXPECT_THROW(MutualInformation({Information::nmi, 32, 32, estimator, info.scheme}),
                     InvalidArgument);
        continue;
      }
      MutualInformation nmi({Information::nmi, 32, 32, estimator, info.scheme});
      all.push_back(evaluate(ctx, nmi, s));
      EXPECT_EQ(all.back().cost, all.front().cost) << info.name;
      EXPECT_EQ(all.back().force, all.front().force) << info.name;
    }
  }
}

TEST_P(Similarity, SsdMatchesTheOracleAndItsForceTheDifferences) {
  const Scene s;
  Ssd ssd;
  SsdOracle oracle(s);
  const Evaluated e = evaluate(ctx, ssd, s);
  EXPECT_NEAR(e.cost, oracle.cost(), 1e-6);
  EXPECT_LT(relative_force_error(s, oracle, e.force), gradient_relative);
}

TEST_P(Similarity, SsdForceDoesNotUnderflow) {
  Scene s;
  Ssd ssd;
  const Evaluated usual = evaluate(ctx, ssd, s);
  for (std::vector<float>* image : {&s.f, &s.m})
    for (float& v : *image) v *= 1e30f;
  const Evaluated huge = evaluate(ctx, ssd, s);
  EXPECT_NEAR(huge.cost, usual.cost, 1e-5 * usual.cost);
  for (std::size_t i = 0; i < huge.force.size(); ++i)
    ASSERT_NEAR(huge.force[i], usual.force[i], 1e-8);
}

TEST_P(Similarity, ImagesThatAgreeHaveTheBestNmi) {
  Scene s;
  s.moving = s.fixed;
  s.m = s.f;
  s.map = PointMap{};
  std::fill(s.planes.begin(), s.planes.end(), 0.0f);
  MutualInformation nmi;
  const double same = evaluate(ctx, nmi, s).cost;
  s.m = random_values(s.m.size(), 5);
  const double unrelated = evaluate(ctx, nmi, s).cost;
  EXPECT_LT(same, -1.4);  // a Parzen window blurs the diagonal, so 2 is not reached
  EXPECT_GT(unrelated, -1.2);
  for (float& v : s.m = s.f) v = 5 - 2 * v;  // another contrast
  EXPECT_NEAR(evaluate(ctx, nmi, s).cost, same, 1e-3);
}

TEST_P(Similarity, MaskedVoxelsNeitherCountNorMove) {
  Scene s;
  for (std::size_t i = 0; i < s.f.size(); i += 2) s.f[i] = NAN;
  for (int measure = 0; measure < 2; ++measure) {
    std::unique_ptr<SimilarityMeasure> m;
    if (measure == 0)
      m = std::make_unique<MutualInformation>();
    else
      m = std::make_unique<Ssd>();
    const Evaluated e = evaluate(ctx, *m, s);
    EXPECT_TRUE(std::isfinite(e.cost));
    for (std::size_t i = 0; i < s.f.size(); i += 2)
      for (int c = 0; c < 3; ++c) ASSERT_EQ(e.force[i + c * s.f.size()], 0.0f);
    for (float v : e.force) ASSERT_TRUE(std::isfinite(v));
  }
}

TEST_P(Similarity, NoOverlapIsNotANumber) {
  Scene s;
  s.carry(1000);
  const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
  const DisplacementField u(ctx, s.fixed, s.planes);
  MutualInformation nmi;
  Ssd ssd;
  for (SimilarityMeasure* measure :
       {static_cast<SimilarityMeasure*>(&nmi), static_cast<SimilarityMeasure*>(&ssd)}) {
    measure->read_ranges(ctx, f, m);
    measure->prepare(ctx, {f, m, s.map});
    Buffer<double> cost(ctx, 1);
    measure->evaluate(ctx, u.view(), {nullptr, s.fixed.extent}, cost.data());
    EXPECT_TRUE(std::isnan(cost.to_host(ctx)[0]));
  }
}

TEST_P(Similarity, OverlapIsTheShareOfFixedVoxels) {
  const Geometry g = plain_geometry({10, 8, 6});
  const Volume<float> image(ctx, g, random_values(g.extent.count(), 1));
  DisplacementField u(
      ctx, g, field_planes(g.extent, [](int, int, int) { return Eigen::Vector3d(3, 0, 0); }));
  EXPECT_DOUBLE_EQ(overlap_fraction(ctx, {image, image, PointMap{}}, u.view()), 0.7);
}

/// What the oracles' ranges rest on.
TEST_P(Similarity, RobustRangeOfClippedImagesIsTheirs) {
  const Scene s;
  const IntensityRange f = robust_range(ctx, Volume<float>(ctx, s.fixed, s.f), "fixed"),
                       m = robust_range(ctx, Volume<float>(ctx, s.moving, s.m), "moving");
  EXPECT_FLOAT_EQ(f.low, s.f_range.low);
  EXPECT_FLOAT_EQ(f.high, s.f_range.high);
  EXPECT_FLOAT_EQ(m.low, s.m_range.low);
  EXPECT_FLOAT_EQ(m.high, s.m_range.high);
}

TEST_P(Similarity, SquaredDifferencesAreInPartsOfTheLargerRange) {
  const Scene s;
  const auto cost = [&](float of_fixed, float of_moving) {
    Ssd ssd;
    ssd.set_ranges({0, of_fixed}, {0, of_moving});
    const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
    ssd.prepare(ctx, {f, m, index_map(s.fixed, Eigen::Affine3d::Identity(), s.moving)});
    Buffer<double> value(ctx, 1);
    ssd.evaluate(ctx, {}, {}, value.data());
    return value.to_host(ctx).front();
  };
  EXPECT_NEAR(cost(8, 1), cost(1, 1) / 64, 1e-9 * cost(1, 1));
  EXPECT_EQ(cost(1, 8), cost(8, 1));
}

TEST_P(Similarity, RobustRangeLeavesTheTailsOut) {
  const Geometry g = plain_geometry({50, 40, 30});
  std::vector<float> v = random_values(g.extent.count(), 21, 100, 200);
  for (int i = 0; i < 30; ++i) v[i * 997] = 1000;  // half a permille of outliers
  v[5] = NAN;
  v[6] = INFINITY;
  const IntensityRange r = robust_range(ctx, Volume<float>(ctx, g, v), "it");
  EXPECT_NEAR(r.low, 100, 1);
  EXPECT_NEAR(r.high, 200, 1);
  v[77] = 1e9f;  // one hot voxel
  const IntensityRange hot = robust_range(ctx, Volume<float>(ctx, g, v), "it");
  EXPECT_NEAR(hot.low, 100, 1);
  EXPECT_NEAR(hot.high, 200, 1);
  v[78] = -32768;  // and padding
  EXPECT_NEAR(robust_range(ctx, Volume<float>(ctx, g, v), "it").low, 100, 1);
  v[79] = 3e38f;
  v[80] = -3e38f;
  EXPECT_THROW(robust_range(ctx, Volume<float>(ctx, g, v), "it"), RegistrationError);
  EXPECT_THROW(
      robust_range(ctx, Volume<float>(ctx, g, std::vector<float>(g.extent.count(), 7)), "it"),
      RegistrationError);
  EXPECT_THROW(
      robust_range(ctx, Volume<float>(ctx, g, std::vector<float>(g.extent.count(), NAN)), "it"),
      RegistrationError);
}

TEST_P(Similarity, FlatButForFewerVoxelsThanATailTheWholeRangeServes) {
  const Geometry g = plain_geometry({30, 20, 20});
  for (const float flat : {0.F, 5.F, -300.3F, 1e6F})
    for (const float other : {-9.F, 9.F}) {
      std::vector<float> v(g.extent.count(), flat);
      v[700] = v[701] = flat + other;
      const IntensityRange r = robust_range(ctx, Volume<float>(ctx, g, v), "it");
      EXPECT_EQ(r.low, std::min(flat, flat + other));
      EXPECT_EQ(r.high, std::max(flat, flat + other));
    }
}

TEST_P(Similarity, WhatRoundingLeavesOfOneValueIsConstant) {
  const Geometry g = plain_geometry({10, 10, 10});
  const auto varied_by = [&](float relative) {
    std::vector<float> v(g.extent.count(), 300);
    for (std::size_t i = 0; i < v.size(); i += 2) v[i] *= 1 + relative;
    return Volume<float>(ctx, g, v);
  };
  EXPECT_THROW(robust_range(ctx, varied_by(2e-7F), "it"), RegistrationError);
  EXPECT_GT(robust_range(ctx, varied_by(1e-5F), "it").high, 300);
}

TEST_P(Similarity, GivesTheSameBitsAsTheCpuForAnyThreads) {
  const Scene s;
  std::vector<std::unique_ptr<SimilarityMeasure>> measures;
  measures.push_back(std::make_unique<Ssd>());
  for (Estimator estimator :
       {Estimator::hard, Estimator::parzen, Estimator::parzen_both, Estimator::partial_volume})
    for (Information measure : every_measure)
      measures.push_back(std::make_unique<MutualInformation>(
          MutualInformationOptions{measure, 64, 48, estimator}));
  Context one({}, 1);
  for (const auto& measure : measures) {
    const Evaluated expected = evaluate(one, *measure, s), here = evaluate(ctx, *measure, s),
                    many = evaluate(cpu, *measure, s);
    EXPECT_EQ(here.cost, expected.cost);
    EXPECT_EQ(here.force, expected.force);
    EXPECT_EQ(many.cost, expected.cost);
    EXPECT_EQ(many.force, expected.force);
  }
}

TEST_P(Similarity, TheMapMayMoveWithoutAField) {
  Scene s;
  std::fill(s.planes.begin(), s.planes.end(), 0.0f);
  const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
  MutualInformation nmi;
  Ssd ssd;
  for (SimilarityMeasure* measure :
       {static_cast<SimilarityMeasure*>(&nmi), static_cast<SimilarityMeasure*>(&ssd)}) {
    const Evaluated expected = evaluate(ctx, *measure, s);
    PointMap elsewhere = s.map;
    elsewhere.m[0][3] += 2;
    measure->prepare(ctx, {f, m, elsewhere});
    DisplacementField force(ctx, s.fixed);
    Buffer<double> cost(ctx, 1);
    const FieldView<const float> none{nullptr, s.fixed.extent};
    measure->evaluate(ctx, none, force.view(), cost.data());
    EXPECT_NE(cost.to_host(ctx)[0], expected.cost);
    measure->set_map(s.map);
    measure->evaluate(ctx, none, force.view(), cost.data());
    EXPECT_EQ(cost.to_host(ctx)[0], expected.cost);
    EXPECT_EQ(force.to_host(ctx), expected.force);
  }
}

}  // namespace
}  // namespace freeflow
