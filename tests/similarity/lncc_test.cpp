// LNCC and its force against the double-precision oracle, over windows, masks, borders and
// overlaps.
#include <freeflow/similarity/lncc.h>

#include <memory>

#include "reference/lncc.h"
#include "reference/trilinear.h"
#include "similarity/pair_scene.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

struct Scene : PairScene {
  explicit Scene(Extent n = {21, 19, 11}, Extent moving_n = {25, 18, 14})
      : PairScene(n, moving_n, 2, 300, 40) {}
};

Evaluated evaluate(Context& ctx, const LnccOptions& options, const Scene& s) {
  Lncc lncc(options);
  return test::evaluate(ctx, lncc, s);
}

/// The double-precision counterpart of a scene.
class Oracle {
 public:
  Oracle(const Scene& s, const LnccOptions& options) : s_(s) {
    Context cpu;
    f_range_ = robust_range(cpu, Volume<float>(cpu, s.fixed, s.f), "fixed");
    m_range_ = robust_range(cpu, Volume<float>(cpu, s.moving, s.m), "moving");
    std::vector<double> f, m;
    for (std::size_t i = 0; i < s.f.size(); ++i) {
      f.push_back(scaled(s.f[i], f_range_));
      m.push_back(warped(i));
    }
    lncc_ = std::make_unique<reference::Lncc>(s.fixed.extent, f, m, options.radius,
                                              options.window == LnccWindow::gaussian ? 3 : 1,
                                              options.epsilon);
  }
  const reference::Lncc& lncc() const { return *lncc_; }
  double warped(std::size_t i, const Eigen::Vector3d& extra = Eigen::Vector3d::Zero()) const {
    return scaled(reference::trilinear({s_.moving.extent, s_.m}, s_.position(i, extra)), m_range_);
  }
  /// |force + dE/du| / |dE/du| over every `stride`-th voxel; 0 is demanded where the voxel does not
  /// count.
  double force_error(const std::vector<float>& force, std::size_t stride) const {
    const std::size_t n = s_.f.size();
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < n; i += stride)
      for (int c = 0; c < 3; ++c) {
        if (!lncc_->counts(i)) {
          EXPECT_EQ(force[i + c * n], 0.0f);
          continue;
        }
        const Eigen::Vector3d h = 1e-4 * Eigen::Vector3d::Unit(c);
        const double up = warped(i, h), down = warped(i, -h);
        if (std::isnan(up) || std::isnan(down)) continue;
        const double derivative = (lncc_->cost_with(i, up) - lncc_->cost_with(i, down)) / 2e-4;
        error += std::pow(derivative + force[i + c * n], 2);
        norm += derivative * derivative;
      }
    EXPECT_GT(norm, 0);
    return std::sqrt(error / norm);
  }

 private:
  static double scaled(double v, const IntensityRange& r) {
    return std::isfinite(v) ? std::clamp((v - r.low) / (double(r.high) - r.low) - 0.5, -2.0, 2.0)
                            : NAN;
  }
  const Scene& s_;
  IntensityRange f_range_, m_range_;
  std::unique_ptr<reference::Lncc> lncc_;
};

void expect_oracle(Context& ctx, const LnccOptions& options, const Scene& s,
                   std::size_t stride = 17) {
  const Oracle oracle(s, options);
  const Evaluated e = evaluate(ctx, options, s);
  EXPECT_NEAR(e.cost, oracle.lncc().cost(), lncc_value) << "radius " << options.radius;
  EXPECT_LT(oracle.force_error(e.force, stride), gradient_relative) << "radius " << options.radius;
}

class LnccMeasure : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(LnccMeasure);

TEST_P(LnccMeasure, MatchesTheOracleAndItsForceTheDifferences) {
  const Scene s;
  for (int radius : {1, 2, 4, 40}) expect_oracle(ctx, {LnccWindow::box, radius}, s);
  for (int radius : {1, 2}) expect_oracle(ctx, {LnccWindow::gaussian, radius}, s);
  expect_oracle(ctx, {LnccWindow::box, 2, 0.1}, s);
}

TEST_P(LnccMeasure, SegmentsMeet) {
  for (Extent n : {Extent{150, 3, 2}, Extent{2, 150, 3}, Extent{3, 2, 150}, Extent{300, 2, 2}})
    for (int radius : {2, 35})
      expect_oracle(ctx, {LnccWindow::box, radius}, Scene(n, {n.x + 2, n.y + 2, n.z + 2}));
  expect_oracle(ctx, {LnccWindow::gaussian, 3}, Scene({70, 4, 3}, {72, 6, 5}));
}

TEST_P(LnccMeasure, OneSliceRowOrColumn) {
  for (Extent n : {Extent{23, 17, 1}, Extent{23, 1, 9}, Extent{1, 17, 9}, Extent{40, 1, 1}})
    expect_oracle(ctx, {LnccWindow::box, 2}, Scene(n, {25, 18, 14}), 3);
}

TEST_P(LnccMeasure, MaskedVoxelsNeitherCountNorMove) {
  Scene s;
  for (std::size_t i = 0; i < s.f.size(); i += 3) s.f[i] = NAN;
  for (std::size_t i = 0; i < s.f.size(); i += 41) s.f[i] = INFINITY;
  expect_oracle(ctx, {LnccWindow::box, 2}, s, 7);
  const std::size_t column = 25 * 18;
  for (std::size_t i = 0; i < s.m.size(); ++i)
    if (i / column < 3 || i % 25 < 8) s.m[i] = NAN;  // the moving mask
  expect_oracle(ctx, {LnccWindow::box, 2}, s, 7);
  expect_oracle(ctx, {LnccWindow::gaussian, 1}, s, 7);
}

TEST_P(LnccMeasure, PartialAndNoOverlap) {
  Scene s;
  s.carry(13);
  expect_oracle(ctx, {LnccWindow::box, 2}, s, 7);
  s.carry(1000);
  const Evaluated e = evaluate(ctx, {}, s);
  EXPECT_TRUE(std::isnan(e.cost));
  for (float v : e.force) ASSERT_EQ(v, 0.0f);
}

TEST_P(LnccMeasure, FlatRegionsAreWorthNothing) {
  Scene s;
  for (std::size_t i = 0; i < s.f.size(); ++i)
    if (i % 21 < 12) s.f[i] = 300;
  for (std::size_t i = 0; i < s.m.size(); ++i)
    if (i % 25 < 9) s.m[i] = 1;
  expect_oracle(ctx, {LnccWindow::box, 2}, s);
  const Evaluated e = evaluate(ctx, {LnccWindow::box, 2}, s);
  const Oracle oracle(s, {LnccWindow::box, 2});
  std::size_t flat = 0;
  for (std::size_t i = 0; i < s.f.size(); ++i)
    if (oracle.lncc().counts(i) && i % 21 < 4) {  // no window about it reaches texture
      ++flat;
      for (int c = 0; c < 3; ++c) ASSERT_LT(std::abs(e.force[i + c * s.f.size()]), 1e-7);
    }
  EXPECT_GT(flat, 100u);
}

TEST_P(LnccMeasure, ImagesThatAgreeReachMinusOneWhateverTheLocalScale) {
  Scene s({31, 27, 19}, {31, 27, 19});
  s.moving = s.fixed;
  s.map = PointMap{};
  std::fill(s.planes.begin(), s.planes.end(), 0.0f);
  s.m = s.f;
  for (LnccWindow window : {LnccWindow::box, LnccWindow::gaussian}) {
    EXPECT_LT(evaluate(ctx, {window, 2}, s).cost, -0.99);
    EXPECT_GE(evaluate(ctx, {window, 2}, s).cost, -1.0 - 1e-6);
  }
  const double same = evaluate(ctx, {LnccWindow::box, 2, 1e-4}, s).cost;
  for (float& v : s.m) v = 1000 - 3 * v;
  EXPECT_NEAR(evaluate(ctx, {LnccWindow::box, 2, 1e-4}, s).cost, same, 1e-4);
  for (std::size_t i = 0; i < s.m.size(); ++i)
    s.m[i] = s.f[i] * (1 + 0.01f * float(i % 31)) + 2 * float(i / (31 * 27));  // a bias field
  EXPECT_LT(evaluate(ctx, {LnccWindow::box, 2}, s).cost, -0.95);
  s.m = random_values(s.m.size(), 5);
  EXPECT_GT(evaluate(ctx, {LnccWindow::box, 2}, s).cost, -0.1);
}

TEST_P(LnccMeasure, AHotVoxelSpoilsNoMoreThanItsWindow) {
  Scene s;
  const Evaluated usual = evaluate(ctx, {LnccWindow::box, 1}, s);
  s.f[10 + 21 * (9 + 19 * 5)] = 1e9f;
  const Evaluated hot = evaluate(ctx, {LnccWindow::box, 1}, s);
  EXPECT_NEAR(hot.cost, usual.cost, 30.0 / double(s.f.size()));
  const std::size_t n = s.f.size(), far = 2 * 21 * 19;  // slices 0 and 1
  for (std::size_t i = 0; i < far; ++i)
    for (int c = 0; c < 3; ++c) ASSERT_NEAR(hot.force[i + c * n], usual.force[i + c * n], 1e-6);
}

TEST_P(LnccMeasure, GivesTheSameBitsAsTheCpuForAnyThreads) {
  Context one({}, 1), three({}, 3);
  for (const Extent& n :
       {Extent{21, 19, 11}, Extent{61, 47, 33}, Extent{270, 70, 5}, Extent{5, 140, 70}}) {
    Scene s(n, {n.x + 4, n.y, n.z + 3});
    for (std::size_t i = 0; i < s.f.size(); i += 101) s.f[i] = NAN;
    for (const LnccOptions& options :
         {LnccOptions{LnccWindow::box, 2}, LnccOptions{LnccWindow::box, 7},
          LnccOptions{LnccWindow::box, 64}, LnccOptions{LnccWindow::gaussian, 2}}) {
      const Evaluated expected = evaluate(one, options, s), here = evaluate(ctx, options, s),
                      many = evaluate(three, options, s);
      EXPECT_EQ(here.cost, expected.cost);
      EXPECT_EQ(here.force, expected.force);
      EXPECT_EQ(many.cost, expected.cost);
      EXPECT_EQ(many.force, expected.force);
    }
  }
}

TEST_P(LnccMeasure, PrepareTakesNoMoreThanItSaysAndEvaluateNothing) {
  const Scene s({33, 2, 40}, {25, 18, 14});
  for (LnccWindow window : {LnccWindow::box, LnccWindow::gaussian}) {
    const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
    const DisplacementField u(ctx, s.fixed, s.planes);
    DisplacementField force(ctx, s.fixed);
    const Buffer<double> cost(ctx, 1);
    Lncc lncc({window, 3});
    lncc.read_ranges(ctx, f, m);
    lncc.prepare(ctx, {f, m, s.map});
    const ContextStatistics prepared = ctx.statistics();
    lncc.evaluate(ctx, u.view(), force.view(), cost.data());
    EXPECT_EQ(ctx.statistics().allocations, prepared.allocations);
    EXPECT_EQ(ctx.statistics().synchronizations, prepared.synchronizations);
  }
}

TEST_P(LnccMeasure, FollowsTheMapWithoutADisplacement) {
  Scene s;
  std::fill(s.planes.begin(), s.planes.end(), 0.0f);
  const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m);
  Lncc lncc;
  lncc.read_ranges(ctx, f, m);
  lncc.prepare(ctx, {f, m, PointMap{}});
  lncc.set_map(s.map);
  DisplacementField force(ctx, s.fixed);
  Buffer<double> cost(ctx, 1);
  lncc.evaluate(ctx, {nullptr, s.fixed.extent}, force.view(), cost.data());
  const Evaluated expected = evaluate(ctx, {}, s);
  EXPECT_EQ(cost.to_host(ctx)[0], expected.cost);
  EXPECT_EQ(force.to_host(ctx), expected.force);
}

TEST(LnccOptions, AreChecked) {
  EXPECT_THROW(Lncc({LnccWindow::box, 0}), InvalidArgument);
  EXPECT_THROW(Lncc({LnccWindow::gaussian, 65}), InvalidArgument);
  EXPECT_THROW(Lncc({LnccWindow::box, 2, 0}), InvalidArgument);
  EXPECT_THROW(Lncc({LnccWindow::box, 2, NAN}), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
