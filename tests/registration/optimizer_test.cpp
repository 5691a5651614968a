// The three rules of descent on a quadratic with a known minimum, and the vector-free L-BFGS
// against the textbook one.
#include <freeflow/registration/ffd/optimizer.h>

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
