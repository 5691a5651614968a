// Arithmetic of images and fields, exact means and logarithms, on every device.
#include <freeflow/deform/field_algebra.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <freeflow/deform/affine_algebra.h>
#include <freeflow/deform/exact_mean.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Algebra : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Algebra);

TEST_P(Algebra, CombinesScalesAndNegates) {
  const Geometry g = oblique_geometry({13, 9, 5});
  const std::vector<float> x = random_values(3 * g.extent.count(), 1, -4, 4),
                           y = random_values(3 * g.extent.count(), 2, -4, 4);
  const DisplacementField u(ctx, g, x), v(ctx, g, y);
  const std::vector<float> sum = add(ctx, u, v).to_host(ctx),
                           mix = linear_combination(ctx, 0.25, u, -2, v).to_host(ctx),
                           minus = negate(ctx, u).to_host(ctx);
  const Volume<float> image(
      ctx, g, std::vector<float>(x.begin(), x.begin() + std::ptrdiff_t(g.extent.count())));
  const std::vector<float> thrice = scale(ctx, 3, image).to_host(ctx);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(sum[i], x[i] + y[i]);
    ASSERT_NEAR(mix[i], 0.25 * x[i] - 2.0 * y[i], 1e-6);
    ASSERT_EQ(minus[i], -x[i]);
  }
  for (std::size_t i = 0; i < thrice.size(); ++i) ASSERT_EQ(thrice[i], 3 * x[i]);
  EXPECT_EQ(u.clone(ctx).to_host(ctx), x);
  const DisplacementField other(ctx, plain_geometry({13, 9, 5}));
  EXPECT_THROW(add(ctx, u, other), InvalidArgument);
}

TEST_P(Algebra, MeanLengthIsInMillimetresAndInsideTheMask) {
  Geometry g = plain_geometry({10, 8, 6});
  g.spacing = {1, 2, 3};
  // 3 mm along y and 4 mm along x in one half, nothing in the other.
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int, int) {
                              return x < 5 ? Eigen::Vector3d(4, 1.5, 0) : Eigen::Vector3d(0, 0, 0);
                            }));
  EXPECT_NEAR(mean_length_mm(ctx, u), 2.5, 1e-12);
  const Volume<float> mask(ctx, g, voxelwise(g.extent, [](int x, int, int) { return x < 5; }));
  EXPECT_NEAR(mean_length_mm(ctx, u, &mask), 5, 1e-12);
  const Volume<float> nothing(ctx, g, std::vector<float>(g.extent.count(), 0));
  EXPECT_EQ(mean_length_mm(ctx, u, &nothing), 0);
}

TEST_P(Algebra, AMeanOfManyHasTheSameBitsInAnyOrderAndGrouping) {
  const Geometry g = plain_geometry({31, 17, 9});
  constexpr int many = 12;
  std::vector<DisplacementField> fields;
  std::vector<std::vector<float>> host;
  for (int k = 0; k < many; ++k) {
    host.push_back(random_values(3 * g.extent.count(), unsigned(k), -7, 7));
    fields.emplace_back(ctx, g, host.back());
  }
  const auto mean_in = [&](std::vector<int> order, int split) {
    ExactMean<DisplacementField> first(ctx, g, 7), second(ctx, g, 7);
    for (int k = 0; k < many; ++k)
      (k < split ? first : second).add(ctx, fields[std::size_t(order[std::size_t(k)])]);
    first.add(ctx, second);
    return first.mean(ctx).to_host(ctx);
  };
  std::vector<int> order(many);
  std::iota(order.begin(), order.end(), 0);
  const std::vector<float> expected = mean_in(order, many);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double sum = 0;
    for (const std::vector<float>& h : host) sum += h[i];
    ASSERT_NEAR(expected[i], sum / many, 1e-6);
  }
  std::mt19937 generator(3);
  for (const int split : {0, 5, 11}) {
    std::shuffle(order.begin(), order.end(), generator);
    EXPECT_EQ(mean_in(order, split), expected) << split;
  }
  Context one({}, 1);
  ExactMean<DisplacementField> elsewhere(one, g, 7);
  for (const std::vector<float>& h : host) elsewhere.add(one, DisplacementField(one, g, h));
  EXPECT_EQ(elsewhere.mean(one).to_host(one), expected);
}

TEST_P(Algebra, AMeanOfImagesLeavesOutVoxelsWithoutAValueAndRefusesWhatItCannotHold) {
  const Geometry g = plain_geometry({4, 3, 2});
  std::vector<float> a(g.extent.count(), 1), b(g.extent.count(), 2);
  a[5] = NAN, b[5] = NAN, b[6] = NAN;
  ExactMean<Volume<float>> mean(ctx, g, 100);
  mean.add(ctx, Volume<float>(ctx, g, a));
  mean.add(ctx, Volume<float>(ctx, g, b));
  const std::vector<float> m = mean.mean(ctx).to_host(ctx);
  EXPECT_EQ(m[0], 1.5f);
  EXPECT_TRUE(std::isnan(m[5]));
  EXPECT_EQ(m[6], 1.0f);
  EXPECT_EQ(mean.words().to_host(ctx).back(), 2);
  b[0] = -101;
  EXPECT_THROW(mean.add(ctx, Volume<float>(ctx, g, b)), InvalidArgument);
  EXPECT_THROW(mean.add(ctx, Volume<float>(ctx, plain_geometry({4, 3, 3}))), InvalidArgument);
  EXPECT_THROW(ExactMean<Volume<float>>(ctx, g, 0), InvalidArgument);
}

TEST_P(Algebra, TheLogarithmUndoesTheExponential) {
  const Geometry g = plain_geometry({40, 36, 30});
  const DisplacementField v(
      ctx, g, field_planes(g.extent, [&](int x, int y, int z) { return wave(x, y, z, 1.5); }));
  const DisplacementField u = exponential(ctx, v);
  const Logarithm log = logarithm(ctx, u);
  // What sampling exp(-v) between voxels leaves: exp(v) o exp(-v) is no nearer to the identity.
  const double floor =
      inverse_residual(ctx, u, exponential(ctx, v, exponential_squarings, -1)).mean_voxels;
  EXPECT_LT(log.residual.mean_voxels, floor);
  EXPECT_LT(floor, 0.02);
  EXPECT_LT(mean_length_mm(ctx, linear_combination(ctx, 1, exponential(ctx, log.velocity), -1, u)),
            0.03);
  // Half the way twice is the whole way.
  const DisplacementField half = exponential(ctx, scale(ctx, 0.5, log.velocity));
  EXPECT_LT(mean_length_mm(ctx, linear_combination(ctx, 1, compose(ctx, half, half), -1, u)), 0.03);
}

TEST_P(Algebra, SumsThatAreAddedCountTheirAddends) {
  const Geometry g = plain_geometry({3, 2, 2});
  ExactMean<Volume<float>> sum(ctx, g, 1), other(ctx, g, 4);
  const Volume<float> ones(ctx, g, std::vector<float>(g.extent.count(), 1));
  sum.add(ctx, ones);
  for (int doubled = 1; doubled < ExactMean<Volume<float>>::most_addends; doubled *= 2)
    sum.add(ctx, sum);
  EXPECT_EQ(sum.mean(ctx).to_host(ctx), ones.to_host(ctx));
  EXPECT_THROW(sum.add(ctx, ones), InvalidArgument) << "one more than it takes";
  EXPECT_THROW(sum.add(ctx, other), InvalidArgument) << "of another bound, so in another unit";
}

TEST_P(Algebra, ALogarithmOfNoIterationIsTheFieldItself) {
  const Geometry g = plain_geometry({12, 11, 10});
  const DisplacementField u(
      ctx, g, field_planes(g.extent, [](int x, int y, int z) { return wave(x, y, z, 0.5); }));
  LogarithmOptions none;
  none.max_iterations = 0;
  EXPECT_EQ(logarithm(ctx, u, none).velocity.to_host(ctx), u.to_host(ctx));
  none.max_iterations = -1;
  EXPECT_THROW(logarithm(ctx, u, none), InvalidArgument);
}

TEST(AffineMean, IsThatOfTheLogarithms) {
  const auto turned = [](double degrees, double scale) {
    Eigen::Affine3d a = Eigen::Affine3d::Identity();
    a.linear() =
        scale * Eigen::AngleAxisd(degrees * EIGEN_PI / 180, Eigen::Vector3d(1, 2, -1).normalized())
                    .toRotationMatrix();
    return a;
  };
  // About one axis angles and logarithms of scales average.
  const Eigen::Affine3d both[] = {turned(30, 0.5), turned(50, 2)};
  EXPECT_TRUE(log_mean(both).isApprox(turned(40, 1), 1e-10));
  // A transform and its inverse cancel.
  Eigen::Affine3d a = turned(20, 1.1);
  a.translation() = Eigen::Vector3d(3, -8, 40);
  const Eigen::Affine3d pair[] = {a, a.inverse()};
  EXPECT_TRUE(log_mean(pair).isApprox(Eigen::Affine3d::Identity(), 1e-10));
  EXPECT_TRUE(affine_exponential(affine_logarithm(a)).isApprox(a, 1e-10));
  const Eigen::Affine3d three[] = {turned(30, 0.5), turned(50, 2), turned(70, 1)};
  EXPECT_TRUE(log_mean(three).isApprox(turned(50, 1), 1e-10));
  EXPECT_THROW(log_mean({}), InvalidArgument);
  EXPECT_THROW(affine_logarithm(turned(180, 1)), InvalidArgument);
  a.linear().col(0) *= -1;
  EXPECT_THROW(affine_logarithm(a), InvalidArgument);
}

/// Deeper on the stack by so many bytes.
[[gnu::noinline]] Eigen::Affine3d log_mean_below(std::size_t bytes,
                                                 std::span<const Eigen::Affine3d> affines) {
  auto* const below = static_cast<volatile char*>(__builtin_alloca(bytes + 1));
  below[0] = 1;
  return log_mean(affines);
}

TEST(AffineMean, HasTheSameBitsWhereverOnTheStackItIsWorkedOut) {
  const std::vector<float> entries = random_values(240, 7, -0.4f, 0.4f);
  for (std::size_t n = 0; n + 24 <= entries.size(); n += 24) {
    Eigen::Affine3d both[] = {Eigen::Affine3d::Identity(), Eigen::Affine3d::Identity()};
    for (std::size_t i = 0; i < 24; ++i)
      both[i / 12].matrix()(int(i / 4 % 3), int(i % 4)) += double(entries[n + i]);
    const Eigen::Matrix4d first = log_mean(both).matrix();
    for (const std::size_t bytes : {8, 16, 24, 32, 48})
      EXPECT_EQ(log_mean_below(bytes, both).matrix(), first) << bytes;
  }
}

}  // namespace
}  // namespace freeflow
