// The unbiased regulariser: closed forms, finite differences of the energy in double, and the same
// bits from every kernel.
#include <freeflow/regularize/symmetric_kl.h>

#include <freeflow/core/error.h>
#include <freeflow/core/portable_math.h>
#include <freeflow/deform/displacement_field.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Kl : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Kl);

/// The energy by its definition, in double.
double defined_energy(const std::vector<double>& u, Extent n) {
  const auto derivative = [&](int c, int axis, int x, int y, int z) {
    int up[3] = {x, y, z}, down[3] = {x, y, z};
    up[axis] = std::min(up[axis] + 1, n[axis] - 1);
    down[axis] = std::max(down[axis] - 1, 0);
    if (up[axis] == down[axis]) return 0.0;
    const auto at = [&](const int p[3]) {
      return u[(std::size_t(c * n.z + p[2]) * n.y + p[1]) * n.x + p[0]];
    };
    return (at(up) - at(down)) / (up[axis] - down[axis]);
  };
  double sum = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        Eigen::Matrix3d g = Eigen::Matrix3d::Identity();
        for (int c = 0; c < 3; ++c)
          for (int axis = 0; axis < 3; ++axis) g(c, axis) += derivative(c, axis, x, y, z);
        const double j = g.determinant();
        sum += (j - 1) * std::log(j);
      }
  return sum / double(n.count());
}

DisplacementField field(Context& ctx, Extent n, const std::vector<float>& u) {
  return DisplacementField(ctx, plain_geometry(n), u);
}

double energy(Context& ctx, Extent n, const std::vector<float>& u, double smallest = 0.01) {
  const DisplacementField f = field(ctx, n, u);
  const Buffer<double> value(ctx, 1);
  SymmetricKl(ctx, n).energy(ctx, f.view(), smallest, value.data());
  return value.to_host(ctx)[0];
}

std::vector<float> force(Context& ctx, Extent n, const std::vector<float>& u, double weight,
                         KlKernel kernel = KlKernel::reuse, BlockShape shape = {}) {
  const DisplacementField f = field(ctx, n, u);
  DisplacementField out(ctx, plain_geometry(n));
  SymmetricKl(ctx, n, kernel, shape).force(ctx, f.view(), weight, out.view());
  return out.to_host(ctx);
}

/// Bumpy, but without folds: determinants of about 0.3 to 2.
std::vector<float> bumpy(Extent n, unsigned seed = 3) {
  std::vector<float> u =
      field_planes(n, [](int x, int y, int z) { return wave(3 * x, 3 * y, 3 * z, 0.3); });
  const std::vector<float> noise = random_values(u.size(), seed, -0.15f, 0.15f);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] += noise[i];
  return u;
}

TEST_P(Kl, TheLogarithmIsExactToRounding) {
  for (float x : {1e-3f, 0.05f, 0.3f, 0.5f, 0.70710678f, 0.99999f, 1.0f, 1.00001f, 1.41421354f,
                  1.5f, 2.0f, 7.0f, 1e6f})
    EXPECT_NEAR(log_positive(x), std::log(double(x)), 1e-7 + 2e-7 * std::abs(std::log(double(x))))
        << x;
}

TEST_P(Kl, AUniformScalingHasTheClosedForm) {
  const Extent n{9, 8, 7};
  for (const double s : {-0.2, 0.1, 0.5}) {
    const std::vector<float> u =
        field_planes(n, [&](int x, int y, int z) { return Eigen::Vector3d(s * x, s * y, s * z); });
    const double j = std::pow(1 + s, 3);
    EXPECT_NEAR(energy(ctx, n, u), (j - 1) * std::log(j), 1e-5);
    const std::vector<float> f = force(ctx, n, u, 1);
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(f[c * n.count() + (3 * 8 + 4) * 9 + 4], 0, 1e-7) << "nothing pulls inside";
  }
  EXPECT_EQ(energy(ctx, n, std::vector<float>(3 * n.count(), 2)), 0.0);
  EXPECT_EQ(force(ctx, n, std::vector<float>(3 * n.count(), 2), 1),
            std::vector<float>(3 * n.count(), 0.0f));
}

TEST_P(Kl, GrowingCostsWhatShrinkingDoes) {
  // Half the voxels at a and half at 1 / a, or the other way round, as seen from either image: (a -
  // 1) log a = a (1 / a - 1) log(1 / a).
  const Extent n{6, 6, 6};
  const auto scaled = [&](double s) {
    return field_planes(n, [&](int x, int, int) { return Eigen::Vector3d((s - 1) * x, 0, 0); });
  };
  EXPECT_NEAR(energy(ctx, n, scaled(2)), 2 * energy(ctx, n, scaled(0.5)), 1e-5);
}

TEST_P(Kl, TheEnergyIsItsDefinition) {
  for (const Extent n : {Extent{13, 11, 9}, Extent{1, 9, 5}, Extent{2, 2, 7}}) {
    const std::vector<float> u = bumpy(n);
    EXPECT_NEAR(energy(ctx, n, u), defined_energy(std::vector<double>(u.begin(), u.end()), n),
                1e-5);
  }
}

TEST_P(Kl, TheForceIsTheGradientToTheBorder) {
  for (const Extent n : {Extent{7, 6, 5}, Extent{3, 2, 4}, Extent{1, 5, 6}}) {
    const std::vector<float> u = bumpy(n), f = force(ctx, n, u, double(n.count()));
    std::vector<double> moved(u.begin(), u.end());
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
      constexpr double h = 1e-5;
      moved[i] = u[i] + h;
      const double up = defined_energy(moved, n);
      moved[i] = u[i] - h;
      const double expected = -double(n.count()) * (up - defined_energy(moved, n)) / (2 * h);
      moved[i] = u[i];
      largest = std::max(largest, std::abs(expected));
      worst = std::max(worst, std::abs(f[i] - expected));
    }
    EXPECT_GT(largest, 0.01);
    EXPECT_LT(worst, gradient_relative * largest) << n.x;
  }
}

TEST_P(Kl, EveryKernelAndShapeGivesTheSameBits) {
  for (const Extent n : {Extent{61, 47, 33}, Extent{130, 9, 70}, Extent{1, 1, 1}, Extent{1, 40, 3},
                         Extent{30, 14, 1}, Extent{31, 15, 2}}) {
    const std::vector<float> u = bumpy(n), expected = force(cpu, n, u, 3);
    for (const KlKernel kernel : {KlKernel::reuse, KlKernel::recompute})
      for (const BlockShape& shape : kl_block_shapes())
        ASSERT_EQ(force(ctx, n, u, 3, kernel, shape), expected)
            << n.x << ' ' << int(kernel) << ' ' << shape.x << 'x' << shape.y;
    Context three({}, 3);
    EXPECT_EQ(force(three, n, u, 3), expected);
    EXPECT_EQ(energy(ctx, n, u), energy(cpu, n, u));
  }
}

TEST_P(Kl, AddsToAForce) {
  const Extent n{33, 20, 18};
  const std::vector<float> u = bumpy(n), alone = force(ctx, n, u, 2),
                           start = random_values(u.size(), 5);
  for (const KlKernel kernel : {KlKernel::reuse, KlKernel::recompute}) {
    const DisplacementField f = field(ctx, n, u);
    DisplacementField sum = field(ctx, n, start);
    const SymmetricKl kl(ctx, n, kernel);
    const ContextStatistics before = ctx.statistics();
    kl.add_force(ctx, f.view(), 2, sum.view());
    EXPECT_EQ(ctx.statistics().allocations, before.allocations);
    EXPECT_EQ(ctx.statistics().synchronizations, before.synchronizations);
    const std::vector<float> out = sum.to_host(ctx);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], start[i] + alone[i], 2e-7);
  }
}

TEST_P(Kl, AFoldIsNeverHidden) {
  const Extent n{12, 10, 8};
  std::vector<float> u(3 * n.count(), 0.0f);
  u[(4 * 10 + 5) * 12 + 5] = 2, u[(4 * 10 + 5) * 12 + 7] = -2;
  EXPECT_TRUE(std::isnan(energy(ctx, n, u)));
  const std::vector<float> f = force(ctx, n, u, 1);
  EXPECT_TRUE(std::any_of(f.begin(), f.end(), [](float v) { return std::isnan(v); }));
  const std::vector<float> halved =
      field_planes(n, [](int x, int, int) { return Eigen::Vector3d(-0.5 * x, 0, 0); });
  EXPECT_FALSE(std::isnan(energy(ctx, n, halved, 0.45)));
  EXPECT_TRUE(std::isnan(energy(ctx, n, halved, 0.55))) << "below the bound that was asked for";
}

TEST_P(Kl, SaysWhatItCannot) {
  EXPECT_THROW(SymmetricKl(ctx, Extent{8, 8, 8}, KlKernel::reuse, BlockShape{7, 3}),
               InvalidArgument);
  EXPECT_FALSE(parse_kl_kernel("guess").has_value());
  EXPECT_EQ(parse_kl_kernel("recompute"), KlKernel::recompute);
}

}  // namespace
}  // namespace freeflow
