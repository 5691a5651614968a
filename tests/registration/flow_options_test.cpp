// What flows, demons and fluids make of their options, looked at through a measure whose cost and
// force the test chooses: the length of steps, what a level returns, costs, and sentences.
#include <freeflow/registration/flow/demons_force.h>
#include <freeflow/registration/register_images.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/storage_order.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/flow/velocity.h>
#include <freeflow/regularize/field_diffusion.h>
#include <freeflow/regularize/navier.h>

#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

/// What evaluation number k costs, and the force of each, along x; what is told and asked is kept.
struct Chosen {
  std::function<double(int)> cost;
  std::vector<float> along_x;
  struct Pair {
    std::vector<float> fixed, moving;
    PointMap map;
  };
  mutable std::vector<Pair> pairs;
  mutable std::vector<std::vector<float>> displacements;
};

class Push : public SimilarityMeasure {
 public:
  explicit Push(const Chosen& chosen) : chosen_(chosen) {}
  void set_ranges(const IntensityRange&, const IntensityRange&) override {}
  void prepare(Context& ctx, const ImagePair& pair) override {
    chosen_.pairs.push_back(
        {pair.fixed.to_host(ctx), pair.moving.to_host(ctx), pair.fixed_to_moving});
  }
  void set_map(const PointMap&) override {}
  void evaluate(Context&, FieldView<const float> u, FieldView<float> force, double* cost) override {
    if (u.data) chosen_.displacements.emplace_back(u.data, u.data + 3 * u.extent.count());
    *cost = chosen_.cost(evaluations_++);
    if (!force.data) return;
    std::fill_n(force.data, 3 * force.extent.count(), 0.0F);
    std::ranges::copy(chosen_.along_x, force.data);
  }

 private:
  const Chosen& chosen_;
  int evaluations_ = 0;
};

template <class Options>
Options pushed(const Chosen& chosen, int iterations) {
  Options o;
  o.similarity.factory = [&chosen] { return std::make_unique<Push>(chosen); };
  o.levels = 1;
  o.iterations = {iterations};
  return o;
}

/// What a uniform push moves, in steps: the root mean square of the speeds is 0.3, bent.
const double pace_of_all = 0.3 / std::sqrt(1.09);

/// On a grid in the order that registrations work in, so that the test sees its voxels.
class FlowSettings : public testing::Test {
 protected:
  FlowSettings() { grid = ordered(grid, canonical_order(grid)); }
  Chosen chosen(std::function<double(int)> cost, double push = 1) const {
    return {std::move(cost), std::vector<float>(grid.extent.count(), float(push)), {}, {}};
  }
  Volume<float> image(double shift = 0) {
    return sample_world(cpu, grid, [&](const Eigen::Vector3d& p) {
      return test::texture(p + Eigen::Vector3d(shift, 0, 0));
    });
  }
  template <class F>
  DisplacementField field(F&& f) {
    return {cpu, grid, field_planes(grid.extent, f)};
  }
  void expect_along_x(const DisplacementField& u, double expected) {
    const std::vector<float> planes = u.to_host(cpu);
    const std::size_t n = grid.extent.count();
    for (std::size_t i = 0; i < planes.size(); ++i)
      ASSERT_NEAR(planes[i], i < n ? expected : 0, 1e-5) << i;
  }

  Context cpu;
  Geometry grid = plain_geometry({14, 12, 10});
};

TEST_F(FlowSettings, ADiffusingFlowHalvesItsStepThreeTimesAndReturnsTheMeanOfTheLast) {
  const Chosen still = chosen([](int) { return 1.0; });
  const RegistrationResult r =
      register_flow(cpu, image(), image(1), pushed<FlowOptions>(still, 100));
  const LevelRecord& level = r.levels[0];
  ASSERT_EQ(level.iterations.size(), 21u);
  EXPECT_EQ(level.evaluations, 21);
  EXPECT_EQ(level.stopped_because, "converged");
  for (int k = 0; k <= 20; ++k)
    EXPECT_DOUBLE_EQ(level.iterations[std::size_t(k)].step_mm,
                     k == 0 ? 0 : std::ldexp(0.5, -((k - 1) / 5)))
        << k;
  // Sixteen steps, and the mean of what the last four lead to.
  expect_along_x(r.displacement, pace_of_all * (5 * (0.5 + 0.25 + 0.125) + 0.0625 + 2.5 * 0.0625));
  ASSERT_EQ(r.warnings.size(), 1u) << "nothing was gained";
}

TEST_F(FlowSettings, AFlowReturnsTheMeanOfItsLastQuarter) {
  const Chosen falling = chosen([](int k) { return -double(k); });
  FlowOptions o = pushed<FlowOptions>(falling, 8);
  o.sigma_field = {{0}};
  const RegistrationResult r = register_flow(cpu, image(), image(1), o);
  EXPECT_EQ(r.levels[0].stopped_because, "reached the number of iterations");
  expect_along_x(r.displacement, pace_of_all * 0.5 * 7.5);
  EXPECT_TRUE(r.warnings.empty());
  const Chosen still = chosen([](int) { return 1.0; });
  DemonsOptions demons = pushed<DemonsOptions>(still, 100);
  demons.kind = DemonsKind::esm;
  const RegistrationResult last = register_demons(cpu, image(), image(1), demons);
  EXPECT_EQ(last.levels[0].iterations.size(), 11u) << "a Gaussian's step is not halved";
  expect_along_x(last.displacement, pace_of_all * 0.5 * 10);
}

TEST_F(FlowSettings, StepsCountInSidesOfTheSmallestFaceForThoseThatMove) {
  grid.spacing = {4, 2, 1};  // its smallest face has a side of the root of two
  Chosen half = chosen([](int) { return 1.0; });
  half.along_x = voxelwise(grid.extent, [](int x, int, int) { return x < 7 ? 1e-6 : 0; });
  FlowOptions o = pushed<FlowOptions>(half, 1);
  o.sigma_field = {{0}};
  o.sigma_update.value = 0.01;
  const RegistrationResult r = register_flow(cpu, image(), image(1), o);
  EXPECT_DOUBLE_EQ(r.levels[0].iterations[1].step_mm, 0.5 * std::sqrt(2.0));
  const std::vector<float> u = r.displacement.to_host(cpu);
  for (std::size_t i = 0; i < grid.extent.count(); ++i)
    ASSERT_NEAR(u[i], i % 14 < 7 ? pace_of_all * 0.5 * std::sqrt(2.0) / 4 : 0, 1e-5) << i;
}

TEST_F(FlowSettings, AFluidTakesBackStepsThatShrinkWhatItHasTooFar) {
  const double middle = 6.5;
  grid.spacing.setConstant(2);
  const DisplacementField squeezed =
      field([&](int x, int, int) { return Eigen::Vector3d(-0.93 * (x - middle), 0, 0); });
  Chosen inward = chosen([](int) { return 1.0; });
  inward.along_x = voxelwise(grid.extent, [&](int x, int, int) { return middle - x; });
  FluidOptions o = pushed<FluidOptions>(inward, 14);
  o.kl = 1e-3;
  o.sigma_update.value = 0.01;
  o.initial_displacement = &squeezed;
  const RegistrationResult r = register_fluid(cpu, image(), image(1), o);
  const LevelRecord& level = r.levels[0];
  EXPECT_EQ(level.stopped_because, "reached the number of iterations");
  const int back = level.evaluations - int(level.iterations.size());
  EXPECT_GT(back, 0);
  EXPECT_GT(level.iterations.size(), 1u);
  for (const IterationRecord& i : level.iterations) EXPECT_TRUE(std::isfinite(i.cost));
  EXPECT_DOUBLE_EQ(level.iterations[1].step_mm, 0.5 * 2);
  // The row's end is the fastest: it has moved by all steps that were not taken back.
  double moved = 0;
  for (const IterationRecord& i : level.iterations) moved += i.step_mm / 2;
  EXPECT_TRUE(std::ranges::any_of(level.iterations, [](const IterationRecord& i) {
    return i.step_mm > 0 && i.step_mm < 1;
  })) << "shorter ones follow";
  EXPECT_EQ(level.regriddings, 0);
  EXPECT_NEAR(r.displacement.to_host(cpu)[grid.extent.offset(0, 6, 5)],
              moved - 0.93 * (moved - middle), 1e-3)
      << moved;
}

TEST_F(FlowSettings, TheUnbiasedTermPullsByItself) {
  const Chosen nothing = chosen([](int) { return 1.0; }, 0);
  const DisplacementField start = field([](int x, int y, int z) { return wave(x, y, z, 1); });
  FlowOptions o = pushed<FlowOptions>(nothing, 4);
  o.sigma_field = {{0}};
  o.kl = 0.25;
  o.initial_displacement = &start;
  const LevelRecord level = register_flow(cpu, image(), image(1), o).levels[0];
  EXPECT_EQ(level.penalty_names, std::vector<std::string>{"symmetric_kl"});
  EXPECT_LT(level.iterations.back().penalties.at(0), 0.9 * level.iterations[0].penalties.at(0));
  for (const IterationRecord& i : level.iterations)
    EXPECT_NEAR(i.cost, 1 + 0.25 * i.penalties[0], 1e-12);
  const DisplacementField folded =
      field([](int x, int, int) { return Eigen::Vector3d(-0.96 * x, 0, 0); });
  o.initial_displacement = &folded;
  EXPECT_THROW(register_flow(cpu, image(), image(1), o), RegistrationError);
}

TEST_F(FlowSettings, LostOverlapEndsARun) {
  const Chosen lost = chosen([](int k) { return k < 2 ? -double(k) : double(NAN); });
  EXPECT_THROW(register_flow(cpu, image(), image(1), pushed<FlowOptions>(lost, 9)),
               RegistrationError);
  EXPECT_THROW(register_fluid(cpu, image(), image(1), pushed<FluidOptions>(lost, 9)),
               RegistrationError);
}

/// Costs so much, and pulls nowhere. Keeps the displacement that it was asked for first.
class Fixed : public Penalty {
 public:
  Fixed(double value, double weight, std::vector<std::vector<float>>& first)
      : value_(value), weight_(weight), first_(first) {}
  void prepare(Context&, Extent) override {}
  void add_force(Context&, const LatticeView& lattice, float weight, FieldView<float>,
                 double* value) override {
    const FieldView<const float> u = lattice.coefficients;
    if (!asked_) first_.emplace_back(u.data, u.data + 3 * u.extent.count());
    asked_ = true;
    EXPECT_EQ(weight, float(weight_));
    *value = value_;
  }

 private:
  double value_, weight_;
  std::vector<std::vector<float>>& first_;
  bool asked_ = false;
};

TEST_F(FlowSettings, CostsAreTheMeasureAndTheWeightedPenaltiesOfEitherDirection) {
  const Chosen one = chosen([](int) { return 1.0; }, 0);
  const DisplacementField v = field([](int x, int y, int z) { return wave(x, y, z, 0.5); });
  const auto expect_costs = [&](auto o, auto&& run) {
    std::vector<std::vector<float>> first;
    o.kl = 0.125;
    for (const double weight : {2.0, 0.5})
      o.penalties.push_back({weight == 2 ? "two" : "half", weight, [&first, weight] {
                               return std::make_unique<Fixed>(3 * weight, weight, first);
                             }});
    const LevelRecord level = run(o).levels[0];
    EXPECT_EQ(level.penalty_names, (std::vector<std::string>{"symmetric_kl", "two", "half"}));
    for (const IterationRecord& i : level.iterations) {
      EXPECT_EQ(i.similarity, 1);
      EXPECT_EQ(i.penalties.size(), 3u);
      EXPECT_GT(i.penalties.at(0), 0);
      EXPECT_EQ(i.penalties.at(1), 6);
      EXPECT_EQ(i.penalties.at(2), 1.5);
      EXPECT_NEAR(i.cost, 1 + 0.125 * i.penalties[0] + 12 + 0.75, 1e-12);
    }
    return first;
  };
  const auto flow = [&](const FlowOptions& o) { return register_flow(cpu, image(), image(1), o); };
  FlowOptions plain = pushed<FlowOptions>(one, 1);
  plain.initial_displacement = &v;
  expect_costs(plain, flow);
  FluidOptions fluid = pushed<FluidOptions>(one, 1);
  fluid.initial_displacement = &v;
  expect_costs(fluid,
               [&](const FluidOptions& o) { return register_fluid(cpu, image(), image(1), o); });
  FlowOptions symmetric = pushed<FlowOptions>(one, 1);
  symmetric.symmetric = true;
  symmetric.initial_velocity = &v;
  const std::vector<std::vector<float>> seen = expect_costs(symmetric, flow);
  ASSERT_EQ(seen.size(), 4u);
  DisplacementField back(cpu, grid);
  DisplacementField minus =
      field([](int x, int y, int z) { return Eigen::Vector3d(-wave(x, y, z, 0.5)); });
  const std::vector<float> forth = exponential(cpu, v).to_host(cpu),
                           backwards = exponential(cpu, minus).to_host(cpu);
  const auto apart = [](const std::vector<float>& a, const std::vector<float>& b) {
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
  };
  EXPECT_LT(apart(seen[0], forth), 1e-5F) << "at exp(v)";
  EXPECT_LT(std::min(apart(seen[1], backwards), apart(seen[2], backwards)), 1e-5F) << "at exp(-v)";
}

TEST_F(FlowSettings, EsmComposesAndThirionAdds) {
  const DisplacementField u = field([](int x, int y, int z) { return wave(x, y, z, 1); });
  const Volume<float> fixed = image(), moving = image(1);
  DemonsOptions o;
  o.similarity.kind = SimilarityKind::ssd;
  o.levels = 1;
  o.iterations = {1};
  o.sigma_field = {{0}};
  o.initial_displacement = &u;
  const PointMap same = index_map(grid, Eigen::Affine3d::Identity(), grid);
  const ImagePair pair{fixed, moving, same};
  for (const DemonsKind kind : {DemonsKind::esm, DemonsKind::thirion}) {
    o.kind = kind;
    DisplacementField force(cpu, grid), d(cpu, grid);
    DemonsForce(cpu, {&pair, 1}, {}, kind == DemonsKind::thirion)
        .evaluate(cpu, u.view(), o.step, force.view());
    Velocity(cpu, grid, o, VelocityKind::gaussian, {}).from_force(cpu, force.view(), d.view());
    const std::vector<float> found =
                                 register_demons(cpu, fixed, moving, o).displacement.to_host(cpu),
                             step = d.to_host(cpu), before = u.to_host(cpu),
                             composed = compose(cpu, d, u).to_host(cpu);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], kind == DemonsKind::esm ? composed[i] : before[i] + step[i], 1e-5);
  }
}

TEST_F(FlowSettings, AFlowWithoutASigmaDiffuses) {
  const auto after_one_step = [&](const FieldSigmas& sigma) {
    FlowOptions o;
    o.similarity.kind = SimilarityKind::ssd;
    o.levels = 1;
    o.iterations = {1};
    o.sigma_field = sigma;
    return register_flow(cpu, image(), image(1), o).displacement;
  };
  DisplacementField moved = after_one_step({{0}}), expected(cpu, grid);
  FieldDiffusion(cpu, grid).apply(cpu, moved.view(), expected.view());
  EXPECT_EQ(after_one_step({}).to_host(cpu), expected.to_host(cpu));
}

/// A force along x that differs from voxel to voxel.
double uneven(int x, int y, int z) { return std::sin(0.9 * x + 0.5 * y) + 0.3 * std::cos(z); }

TEST_F(FlowSettings, AViscousVelocityHasTheViscosityThatWasGiven) {
  Chosen of_one = chosen([](int) { return 1.0; });
  of_one.along_x = voxelwise(grid.extent, uneven);
  const auto expect_way = [&](auto o, auto&& run) {
    o.velocity = VelocityKind::navier;
    for (const double lambda : {0.5, 9.0}) {
      o.viscosity = {1, lambda};
      DisplacementField force =
          field([](int x, int y, int z) { return Eigen::Vector3d(uneven(x, y, z), 0, 0); });
      DisplacementField v(cpu, grid);
      NavierVelocity(cpu, grid, o.viscosity).apply(cpu, force.view(), v.view());
      const std::vector<float> found = run(o).displacement.to_host(cpu), way = v.to_host(cpu);
      const std::size_t n = grid.extent.count();
      for (std::size_t i = 0; i < n; ++i) {
        const Eigen::Vector3d a(found[i], found[i + n], found[i + 2 * n]),
            b(way[i], way[i + n], way[i + 2 * n]);
        ASSERT_NEAR(a.dot(b), a.norm() * b.norm(), 1e-4 * a.norm() * b.norm()) << lambda << i;
        ASSERT_GT(a.norm(), 0);
      }
    }
  };
  FlowOptions flow = pushed<FlowOptions>(of_one, 1);
  flow.sigma_field = {{0}};
  expect_way(flow, [&](const FlowOptions& o) { return register_flow(cpu, image(), image(1), o); });
  expect_way(pushed<FluidOptions>(of_one, 1),
             [&](const FluidOptions& o) { return register_fluid(cpu, image(), image(1), o); });
}

TEST_F(FlowSettings, TheFieldsSigmaIsInVoxelsOrMmAndOfItsLevel) {
  grid.spacing = {1, 2, 1.5};
  Chosen of_one = chosen([](int) { return 1.0; });
  of_one.along_x = voxelwise(grid.extent, uneven);
  FlowOptions o = pushed<FlowOptions>(of_one, 1);
  const auto moved = [&](const FieldSigmas& sigma) {
    o.sigma_field = sigma;
    return register_flow(cpu, image(), image(1), o).displacement;
  };
  const auto expect_smoothed = [&](const FieldSigmas& sigma, const Eigen::Vector3d& in_voxels) {
    o.levels = 1;
    o.iterations = {1};
    DisplacementField by_hand(cpu, grid), sharp = moved({{0}});
    GaussianFilter(cpu, grid.extent, in_voxels, o.smoother)
        .apply(cpu, sharp.view(), by_hand.view());
    o.levels = std::max(1, int(sigma.size()));
    o.iterations = {1};
    if (o.levels == 2) o.iterations = {0, 1};
    const std::vector<float> a = moved(sigma).to_host(cpu), b = by_hand.to_host(cpu);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << i;
  };
  expect_smoothed({{1.5}}, {1.5, 1.5, 1.5});
  expect_smoothed({{1.5, true}}, {1.5, 0.75, 1});
  expect_smoothed({{3.0}, {0.8}}, {0.8, 0.8, 0.8});
}

TEST_F(FlowSettings, ASymmetricFlowLooksBackFromTheMovingImageOnTheFixedGrid) {
  const Chosen nothing = chosen([](int) { return 1.0; }, 0);
  FlowOptions o = pushed<FlowOptions>(nothing, 1);
  o.symmetric = true;
  o.initial.translation() = Eigen::Vector3d(1.3, -0.6, 0.4);
  register_flow(cpu, image(), image(1), o);
  ASSERT_EQ(nothing.pairs.size(), 2u);
  const Chosen::Pair &forth = nothing.pairs[0], &back = nothing.pairs[1];
  EXPECT_EQ(back.map, PointMap{});
  EXPECT_EQ(back.moving, forth.fixed);
  Volume<float> warped(cpu, grid);
  warp_values(cpu, {forth.moving.data(), grid.extent}, forth.map, {nullptr, grid.extent},
              warped.view());
  const std::vector<float> expected = warped.to_host(cpu);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(back.fixed[i])) << i;
    } else {
      ASSERT_EQ(back.fixed[i], expected[i]) << i;
      ++inside;
    }
  }
  EXPECT_GT(inside, expected.size() / 2);
}

TEST_F(FlowSettings, LogDomainDemonsLookAtTheExponentialOfWhatTheyKeep) {
  const Chosen nothing = chosen([](int) { return 1.0; }, 0);
  const DisplacementField v = field([](int x, int y, int z) { return wave(x, y, z, 1); });
  DemonsOptions o = pushed<DemonsOptions>(nothing, 1);
  o.initial_velocity = &v;
  register_demons(cpu, image(), image(1), o);
  const std::vector<float> expected = exponential(cpu, v).to_host(cpu);
  ASSERT_FALSE(nothing.displacements.empty());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(nothing.displacements[0][i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace freeflow
