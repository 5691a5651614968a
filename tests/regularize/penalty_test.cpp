// Penalties: value against a double-precision oracle, force against its central differences, on
// every device.
#include <freeflow/regularize/penalty.h>

#include <algorithm>
#include <functional>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

const Extent lattice{9, 8, 7};
const Vec3f spacing{4, 5, 7.5};
const double h[3] = {4, 5, 7.5};

using Coefficients = std::vector<double>;

double coefficient(const Coefficients& c, int component, int x, int y, int z) {
  return c[component * lattice.count() + (std::size_t(z) * lattice.y + y) * lattice.x + x];
}

/// A derivative of the spline at an inner node: order per axis.
double at_node(const Coefficients& c, int component, int x, int y, int z, int ox, int oy, int oz) {
  static const double w[3][3] = {{1 / 6.0, 4 / 6.0, 1 / 6.0}, {-0.5, 0, 0.5}, {1, -2, 1}};
  double sum = 0;
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i)
        sum += w[ox][i] * w[oy][j] * w[oz][k] *
               coefficient(c, component, x + i - 1, y + j - 1, z + k - 1);
  return sum / (std::pow(h[0], ox) * std::pow(h[1], oy) * std::pow(h[2], oz));
}

double mean_over_inner_nodes(const std::function<double(int, int, int)>& f) {
  double sum = 0;
  for (int z = 1; z < lattice.z - 1; ++z)
    for (int y = 1; y < lattice.y - 1; ++y)
      for (int x = 1; x < lattice.x - 1; ++x) sum += f(x, y, z);
  return sum / ((lattice.x - 2) * (lattice.y - 2) * (lattice.z - 2));
}

double bending_oracle(const Coefficients& c) {
  return mean_over_inner_nodes([&](int x, int y, int z) {
    double sum = 0;
    for (int i = 0; i < 3; ++i)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
          int order[3] = {0, 0, 0};
          ++order[a], ++order[b];
          sum += std::pow(at_node(c, i, x, y, z, order[0], order[1], order[2]), 2);
        }
    return sum;
  });
}

double log_jacobian_oracle(const Coefficients& c) {
  return mean_over_inner_nodes([&](int x, int y, int z) {
    Eigen::Matrix3d g = Eigen::Matrix3d::Identity();
    for (int i = 0; i < 3; ++i)
      for (int a = 0; a < 3; ++a) g(i, a) += at_node(c, i, x, y, z, a == 0, a == 1, a == 2);
    const double det = g.determinant(), smallest = 0.05, j = std::max(det, smallest);
    return std::pow(std::log(j), 2) + 2 * std::log(j) / j * (det - j);
  });
}

double total_variation_oracle(const Coefficients& c) {
  double sum = 0;
  for (int z = 0; z < lattice.z; ++z)
    for (int y = 0; y < lattice.y; ++y)
      for (int x = 0; x < lattice.x; ++x) {
        double squares = 0.0025;
        for (int i = 0; i < 3; ++i) {
          const double here = coefficient(c, i, x, y, z);
          if (x + 1 < lattice.x)
            squares += std::pow((coefficient(c, i, x + 1, y, z) - here) / h[0], 2);
          if (y + 1 < lattice.y)
            squares += std::pow((coefficient(c, i, x, y + 1, z) - here) / h[1], 2);
          if (z + 1 < lattice.z)
            squares += std::pow((coefficient(c, i, x, y, z + 1) - here) / h[2], 2);
        }
        sum += std::sqrt(squares) - 0.05;
      }
  return sum / double(lattice.count());
}

struct Evaluated {
  double value;
  std::vector<float> force;
};

Evaluated evaluate(Context& ctx, Penalty& penalty, const std::vector<float>& c, float weight) {
  const Buffer<float> coefficients(ctx, c);
  Buffer<float> force(ctx, c.size());
  force.fill_zero(ctx);
  Buffer<double> value(ctx, 1);
  penalty.prepare(ctx, lattice);
  penalty.add_force(ctx, {{coefficients.data(), lattice}, spacing}, weight, {force.data(), lattice},
                    value.data());
  return {value.to_host(ctx)[0], force.to_host(ctx)};
}

void check_against(Context& ctx, Penalty& penalty, double (*oracle)(const Coefficients&),
                   float amplitude) {
  const std::vector<float> c = random_values(3 * lattice.count(), 31, -amplitude, amplitude);
  const Evaluated e = evaluate(ctx, penalty, c, 2.5f);
  Coefficients x(c.begin(), c.end());
  EXPECT_NEAR(e.value, oracle(x), 1e-5 * oracle(x));
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); i += 7) {
    const double kept = x[i], step = 1e-4;
    x[i] = kept + step;
    const double up = oracle(x);
    x[i] = kept - step;
    const double derivative = 2.5 * (up - oracle(x)) / (2 * step);
    x[i] = kept;
    error += std::pow(derivative + e.force[i], 2);
    norm += derivative * derivative;
  }
  EXPECT_LT(std::sqrt(error / norm), gradient_relative);
}

class PenaltyOf : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(PenaltyOf);

TEST_P(PenaltyOf, BendingMatchesTheOracle) {
  BendingEnergy bending;
  check_against(ctx, bending, bending_oracle, 3);
}

TEST_P(PenaltyOf, LogJacobianMatchesTheOracle) {
  LogJacobianPenalty log_jacobian;
  check_against(ctx, log_jacobian, log_jacobian_oracle, 1.5f);
}

TEST_P(PenaltyOf, TotalVariationMatchesTheOracle) {
  TotalVariation variation;
  check_against(ctx, variation, total_variation_oracle, 3);
  check_against(ctx, variation, total_variation_oracle, 0.03f);  // where the rounding counts
}

TEST_P(PenaltyOf, TotalVariationOfAJumpIsThatOfARamp) {
  const auto variation_of = [&](int width) {
    const std::vector<float> c = field_planes(lattice, [&](int x, int, int) {
      return Eigen::Vector3d(0, 30.0 * std::clamp(x - 2, 0, width) / width, 0);
    });
    TotalVariation variation;
    return evaluate(ctx, variation, c, 1).value;
  };
  const double jump = variation_of(1), ramp = variation_of(4);
  EXPECT_NEAR(jump, 30 / h[0] / lattice.x, 0.05);
  EXPECT_NEAR(ramp, jump, 0.05);
}

TEST_P(PenaltyOf, LogJacobianOfAFoldedLatticeStillPushesBack) {
  LogJacobianPenalty log_jacobian;
  check_against(ctx, log_jacobian, log_jacobian_oracle, 7);  // many nodes fold
}

TEST_P(PenaltyOf, AnAffineMotionDoesNotBend) {
  Eigen::Matrix3d m;
  m << 0.1, -0.05, 0.02, 0.04, -0.2, 0.03, 0.05, 0.01, 0.15;
  const std::vector<float> c = field_planes(lattice, [&](int x, int y, int z) {
    return Eigen::Vector3d(m * Eigen::Vector3d(x * h[0], y * h[1], z * h[2]));
  });
  BendingEnergy bending;
  const Evaluated e = evaluate(ctx, bending, c, 1);
  EXPECT_LT(e.value, 1e-10);
  for (float f : e.force) ASSERT_LT(std::abs(f), 1e-6);
}

TEST_P(PenaltyOf, GivesTheSameBitsAsTheCpu) {
  const std::vector<float> c = random_values(3 * lattice.count(), 31, -1.5f, 1.5f);
  BendingEnergy bending;
  LogJacobianPenalty log_jacobian;
  TotalVariation variation;
  for (Penalty* penalty : std::initializer_list<Penalty*>{&bending, &log_jacobian, &variation}) {
    const Evaluated here = evaluate(ctx, *penalty, c, 0.3f),
                    there = evaluate(cpu, *penalty, c, 0.3f);
    EXPECT_EQ(here.value, there.value);
    EXPECT_EQ(here.force, there.force);
  }
}

}  // namespace
}  // namespace freeflow
