// The three rules of descent on a quadratic with a known minimum, and the vector-free L-BFGS
// against the textbook one.
#include <freeflow/registration/ffd/optimizer.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <freeflow/core/error.h>
#include <freeflow/registration/ffd/descent_direction.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

/// sum_i a_i (x_i - b_i)^2 / 2 with a from 1 to 1000; lives on the CPU.
class Quadratic : public Objective {
 public:
  static constexpr int size = 50;
  static double a(int i) { return std::pow(10.0, 3.0 * i / (size - 1)); }
  static double b(int i) { return std::sin(i); }

  void evaluate(Context&, const float* x, float* force, double* terms) override {
    terms[0] = 0;
    for (int i = 0; i < size; ++i) {
      terms[0] += 0.5 * a(i) * (x[i] - b(i)) * (x[i] - b(i));
      force[i] = float(-a(i) * (x[i] - b(i)));
    }
    ++evaluations;
  }
  int terms() const override { return 1; }
  double cost(const double* terms) const override { return terms[0]; }
  void describe(const double* terms, IterationRecord& record) const override {
    record.similarity = terms[0];
  }
  int evaluations = 0;
};

LevelRecord descend(OptimizerKind kind, int iterations, Buffer<float>& x, Context& cpu,
                    Quadratic& objective) {
  OptimizerOptions options;
  options.kind = kind;
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.smallest_step = 1e-7;
  LevelRecord level;
  Observer silent;
  minimize(cpu, objective, x, options, level, silent);
  return level;
}

TEST(Optimizer, EveryRuleDescendsAndLbfgsArrives) {
  for (const OptimizerKind kind :
       {OptimizerKind::gradient, OptimizerKind::cg, OptimizerKind::lbfgs}) {
    Context cpu;
    Buffer<float> x(cpu, std::vector<float>(Quadratic::size, 0.0f));
    Quadratic objective;
    const LevelRecord level = descend(kind, 200, x, cpu, objective);
    for (std::size_t i = 1; i < level.iterations.size(); ++i)
      ASSERT_LT(level.iterations[i].cost, level.iterations[i - 1].cost);
    EXPECT_EQ(level.evaluations, objective.evaluations);
    EXPECT_LT(level.iterations.back().cost,
              level.iterations.front().cost * (kind == OptimizerKind::gradient ? 0.1 : 1e-3));
    if (kind != OptimizerKind::lbfgs) continue;
    for (int i = 0; i < Quadratic::size; ++i)
      EXPECT_NEAR(x.data()[i], Quadratic::b(i), 1e-2 / std::sqrt(Quadratic::a(i)));
  }
}

TEST(Optimizer, WaitsOncePerEvaluationAndAllocatesNothingWithin) {
  std::vector<std::size_t> allocations;
  for (int iterations : {5, 40}) {
    Context cpu;
    Buffer<float> x(cpu, std::vector<float>(Quadratic::size, 0.0f));
    Quadratic objective;
    const LevelRecord level = descend(OptimizerKind::lbfgs, iterations, x, cpu, objective);
    EXPECT_EQ(cpu.statistics().synchronizations, std::size_t(level.evaluations));
    allocations.push_back(cpu.statistics().allocations);
  }
  EXPECT_EQ(allocations[0], allocations[1]);
}

TEST(Optimizer, CountsTheEvaluationsOfAFailedSearchToo) {
  struct Uphill : Quadratic {
    void evaluate(Context& ctx, const float* x, float* force, double* terms) override {
      Quadratic::evaluate(ctx, x, force, terms);
      for (int i = 0; i < size; ++i) force[i] = -force[i];
    }
  } objective;
  Context cpu;
  Buffer<float> x(cpu, std::vector<float>(Quadratic::size, 0.0f));
  const LevelRecord level = descend(OptimizerKind::lbfgs, 10, x, cpu, objective);
  EXPECT_EQ(level.iterations.size(), 1u);
  EXPECT_GT(level.evaluations, 2);
  EXPECT_EQ(level.evaluations, objective.evaluations);
  EXPECT_EQ(cpu.statistics().synchronizations, std::size_t(level.evaluations));
}

TEST(Optimizer, StopsWhenAsked) {
  struct Impatient : Observer {
    bool stop_requested() override { return true; }
  } observer;
  Context cpu;
  Buffer<float> x(cpu, std::vector<float>(Quadratic::size, 0.0f));
  Quadratic objective;
  LevelRecord level;
  EXPECT_THROW(minimize(cpu, objective, x, {}, level, observer), Cancelled);
}

/// A cost of one parameter whose values a test chooses. Remembers where it was asked for.
class Line : public Objective {
 public:
  struct Point {
    double cost, force;
  };
  explicit Line(std::function<Point(double)> f) : f_(std::move(f)) {}
  void evaluate(Context&, const float* x, float* force, double* terms) override {
    at.push_back(*x);
    const Point p = f_(*x);
    *terms = p.cost;
    *force = float(p.force);
  }
  int terms() const override { return 1; }
  double cost(const double* terms) const override { return *terms; }
  void describe(const double*, IterationRecord&) const override {}

  std::vector<float> at;

 private:
  std::function<Point(double)> f_;
};

OptimizerOptions along(OptimizerKind kind, int iterations) {
  OptimizerOptions options;
  options.kind = kind;
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.smallest_step = 1e-3;
  return options;
}

LevelRecord descend(Line& line, const OptimizerOptions& options) {
  Context cpu;
  Buffer<float> x(cpu, std::vector<float>{0});
  LevelRecord level;
  Observer silent;
  minimize(cpu, line, x, options, level, silent);
  return level;
}

void expect_places(const Line& line, const std::vector<float>& expected) {
  ASSERT_EQ(line.at.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(line.at[i], expected[i], 1e-6) << i;
}

TEST(LineSearch, TakesTheStepThatAParabolaAsksForWithinATenthAndAHalf) {
  const auto second_trial = [](double cost_there) {
    Line line([=](double x) { return Line::Point{x == 0 ? 0 : x == 0.5 ? cost_there : -1, 1}; });
    descend(line, along(OptimizerKind::gradient, 1));
    EXPECT_EQ(line.at.size(), 3u);
    return line.at.back();
  };
  EXPECT_FLOAT_EQ(second_trial(0.75), 0.1F) << "of slope -1 through 0 and there";
  EXPECT_FLOAT_EQ(second_trial(-1e-5), 0.25F) << "lower, but by less than a 1e-4th of the slope's";
  EXPECT_FLOAT_EQ(second_trial(100), 0.05F);
  EXPECT_FLOAT_EQ(second_trial(NAN), 0.05F);
}

TEST(LineSearch, EndsBelowTheSmallestChangeOfAParameter) {
  Line line([](double x) { return Line::Point{x == 0 ? 0 : 1e-6, 4}; });
  OptimizerOptions options = along(OptimizerKind::lbfgs, 9);
  options.smallest_step = 0.2;
  const LevelRecord level = descend(line, options);
  expect_places(line, {0, 0.5F, 0.25F});
  EXPECT_EQ(level.stopped_because, "no step lowers the cost further");
  EXPECT_EQ(level.iterations.size(), 1u);
}

TEST(Optimizer, StepsOfTheGradientGrowByAFifthWhereTheFirstTrialDoes) {
  Line line([](double x) {
    return Line::Point{x > 1.15 ? 1e9 : -x, x < 0.2 ? 2.0 : x < 0.6 ? 1.0 : 4.0};
  });
  OptimizerOptions options = along(OptimizerKind::gradient, 9);
  options.smallest_step = 0.1;
  const LevelRecord level = descend(line, options);
  expect_places(line, {0, 0.5F, 1.1F, 1.82F});  // what failed is not tried again
  ASSERT_EQ(level.iterations.size(), 3u);
  EXPECT_NEAR(level.iterations[1].step_mm, 0.5, 1e-6);
  EXPECT_NEAR(level.iterations[2].step_mm, 0.6, 1e-6);
  Line cut([](double x) { return Line::Point{x == 0.5 ? 0.75 : -x, 1}; });
  descend(cut, along(OptimizerKind::gradient, 2));
  expect_places(cut, {0, 0.5F, 0.1F, 0.2F});
}

TEST(Optimizer, ADirectionThatFailsGivesWayToTheForce) {
  // At 0.4 the secant, of a curvature of one, leads to 1, where a wall stands; the force to 0.8.
  Line line([](double x) { return Line::Point{x > 0.9 ? 1e9 : -x, x < 0.2 ? 1.0 : 0.6}; });
  OptimizerOptions options = along(OptimizerKind::lbfgs, 2);
  options.first_step = 0.4;
  options.smallest_step = 0.2;
  const LevelRecord level = descend(line, options);
  expect_places(line, {0, 0.4F, 1, 0.8F});
  ASSERT_EQ(level.iterations.size(), 3u);
  EXPECT_EQ(level.iterations[2].iteration, 2);
  EXPECT_EQ(level.stopped_because, "reached the number of iterations");
}

TEST(Optimizer, APairOfNegativeCurvatureIsForgotten) {
  // The first step finds a curvature of one, the second a negative one; the third goes by the
  // first.
  Line line([](double x) { return Line::Point{-x, x < 0.2 ? 1.0 : x < 0.7 ? 0.5 : 0.8}; });
  descend(line, along(OptimizerKind::lbfgs, 3));
  expect_places(line, {0, 0.5F, 1, 1.8F});
}

TEST(Optimizer, ADirectionUphillGivesWayToTheForce) {
  // Conjugate to the first step, the direction at 0.5 would lead on, against a force of -2.
  int call = 0;
  Line line([&](double x) { return Line::Point{double(-++call), x == 0 ? 1.0 : -2.0}; });
  descend(line, along(OptimizerKind::cg, 2));
  expect_places(line, {0, 0.5F, 0});
}

TEST(Optimizer, ConvergesWhereFiveIterationsGainLessThanTheTolerance) {
  const auto cost = [](int k) { return -100 - 0.25 * std::min(k, 6) - 0.1 * std::max(0, k - 6); };
  int call = 0;
  Line line([&](double) { return Line::Point{cost(call++), 1e-3}; });
  OptimizerOptions options = along(OptimizerKind::gradient, 50);
  options.tolerance = 0.01;
  const LevelRecord level = descend(line, options);
  EXPECT_EQ(level.iterations.size(), 9u) << "1.1 below what the seventh gains, 0.95 below the next";
  EXPECT_EQ(level.stopped_because, "converged");
}

TEST(Optimizer, SaysWhatLeavesItNothingToDo) {
  Line flat([](double) { return Line::Point{1, 0}; });
  EXPECT_EQ(descend(flat, along(OptimizerKind::lbfgs, 9)).stopped_because, "the force vanished");
  EXPECT_EQ(flat.at.size(), 1u);
  Line nothing([](double) { return Line::Point{NAN, 1}; });
  EXPECT_THROW(descend(nothing, along(OptimizerKind::lbfgs, 9)), RegistrationError);
}

TEST(OptimizerWords, NameTheRules) {
  EXPECT_EQ(parse_optimizer("gradient"), OptimizerKind::gradient);
  EXPECT_EQ(parse_optimizer("cg"), OptimizerKind::cg);
  EXPECT_EQ(parse_optimizer("lbfgs"), OptimizerKind::lbfgs);
  EXPECT_FALSE(parse_optimizer("newton").has_value());
}

TEST(DescentDirection, ConjugateGradientsAreThoseOfPolakAndRibiere) {
  constexpr int force = VectorSlots::force(1), step = VectorSlots::step(2),
                change = VectorSlots::change(2);
  const auto direction = [&](double before, double now, double last_t) {
    // In one dimension: beta = now (now - before) / before^2, and the last direction was 3.
    std::array<double, VectorSlots::count> vectors{};
    vectors[force] = now;
    vectors[step] = 3 * last_t;
    vectors[change] = before - now;
    GramMatrix gram;
    for (int a = 0; a < VectorSlots::count; ++a)
      for (int b = 0; b < VectorSlots::count; ++b) gram[a][b] = vectors[a] * vectors[b];
    const Combination d = cg_direction(gram, {0, 2}, force, last_t);
    double sum = 0;
    for (int a = 0; a < VectorSlots::count; ++a) sum += d[a] * vectors[a];
    return sum;
  };
  EXPECT_DOUBLE_EQ(direction(2, -1, 0.25), -1 + 3 * 0.75);
  EXPECT_DOUBLE_EQ(direction(2, 3, 4), 3 + 3 * 0.75);
  EXPECT_DOUBLE_EQ(direction(2, 1, 4), 1) << "beta is not negative";
}

TEST(DescentDirection, LbfgsFromInnerProductsIsTheTwoLoopRecursion) {
  constexpr int n = 20, m = 3;
  std::vector<std::vector<double>> vectors(VectorSlots::count, std::vector<double>(n));
  unsigned seed = 1;
  for (auto& v : vectors) {
    const std::vector<float> r = random_values(n, ++seed, -1, 1);
    v.assign(r.begin(), r.end());
  }
  for (int k = 0; k < m; ++k)  // curvature must be positive
    for (int i = 0; i < n; ++i)
      vectors[VectorSlots::change(k)][i] = vectors[VectorSlots::step(k)][i] * (1 + 0.1 * i) +
                                           0.05 * vectors[VectorSlots::change(k)][i];
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  };
  GramMatrix gram;
  for (int a = 0; a < VectorSlots::count; ++a)
    for (int b = 0; b < VectorSlots::count; ++b) gram[a][b] = dot(vectors[a], vectors[b]);

  const int force = VectorSlots::force(0);
  std::vector<double> q = vectors[force];
  double alpha[m];
  for (int k = m - 1; k >= 0; --k) {
    const auto &s = vectors[VectorSlots::step(k)], &y = vectors[VectorSlots::change(k)];
    alpha[k] = dot(s, q) / dot(s, y);
    for (int i = 0; i < n; ++i) q[i] -= alpha[k] * y[i];
  }
  const auto &sl = vectors[VectorSlots::step(m - 1)], &yl = vectors[VectorSlots::change(m - 1)];
  for (double& v : q) v *= dot(sl, yl) / dot(yl, yl);
  for (int k = 0; k < m; ++k) {
    const auto &s = vectors[VectorSlots::step(k)], &y = vectors[VectorSlots::change(k)];
    const double beta = dot(y, q) / dot(s, y);
    for (int i = 0; i < n; ++i) q[i] += (alpha[k] - beta) * s[i];
  }
  const Combination d = lbfgs_direction(gram, {0, 1, 2}, force);
  for (int i = 0; i < n; ++i) {
    double v = 0;
    for (int b = 0; b < VectorSlots::count; ++b) v += d[b] * vectors[b][i];
    EXPECT_NEAR(v, q[i], 1e-10);
  }
}

}  // namespace
}  // namespace freeflow
