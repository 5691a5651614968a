// The Gaussians of the flows against sums in double, on every device.
#include <freeflow/regularize/smoother.h>

#include <algorithm>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Smoothing : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Smoothing);

constexpr Smoother every_smoother[] = {Smoother::automatic, Smoother::recursive,
                                       Smoother::separable, Smoother::fft};

/// The true convolution along one axis, the line going on with its last value.
std::vector<double> convolved(const std::vector<double>& in, Extent n, int axis, double sigma) {
  if (sigma == 0) return in;
  const int radius = int(8 * sigma) + 1;
  std::vector<double> out(in.size());
  double total = 0;
  for (int k = -radius; k <= radius; ++k) total += std::exp(-0.5 * k * k / (sigma * sigma));
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        double sum = 0;
        for (int k = -radius; k <= radius; ++k) {
          int p[3] = {x, y, z};
          p[axis] = std::clamp(p[axis] + k, 0, n[axis] - 1);
          sum += std::exp(-0.5 * k * k / (sigma * sigma)) *
                 in[(std::size_t(p[2]) * n.y + p[1]) * n.x + p[0]];
        }
        out[(std::size_t(z) * n.y + y) * n.x + x] = sum / total;
      }
  return out;
}

TEST_P(Smoothing, IsTheConvolutionToTheBorder) {
  const Geometry g = plain_geometry({29, 21, 13});
  const std::vector<float> v = random_values(g.extent.count(), 5, -1, 1);
  for (const Eigen::Vector3d& sigma :
       {Eigen::Vector3d(0.7, 1.7, 0.5), Eigen::Vector3d(3, 6, 1), Eigen::Vector3d(16, 0, 2)}) {
    std::vector<double> expected(v.begin(), v.end());
    for (int axis = 0; axis < 3; ++axis)
      expected = convolved(expected, g.extent, axis, sigma[axis]);
    for (const Smoother smoother : every_smoother) {
      Volume<float> image(ctx, g, v);
      smooth(ctx, image, sigma, smoother);
      const std::vector<float> out = image.to_host(ctx);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 1e-3) << sigma.transpose() << ' ' << int(smoother);
    }
  }
}

TEST_P(Smoothing, KeepsAConstantToTheBorder) {
  const Geometry g = plain_geometry({17, 9, 5});
  for (const Smoother smoother : every_smoother)
    for (const double sigma : {0.5, 2.0, smoother == Smoother::fft ? 6.0 : 40.0}) {
      Volume<float> image(ctx, g, std::vector<float>(g.extent.count(), 3));
      smooth(ctx, image, Eigen::Vector3d::Constant(sigma), smoother);
      for (float v : image.to_host(ctx)) ASSERT_NEAR(v, 3, 3 * float_rounding);
    }
}

TEST_P(Smoothing, TreatsTheComponentsOfAFieldAlike) {
  const Geometry g = plain_geometry({23, 18, 11});
  const std::size_t n = g.extent.count();
  const std::vector<float> v = random_values(3 * n, 9, -1, 1);
  for (const Smoother smoother : every_smoother) {
    DisplacementField field(ctx, g, v);
    smooth(ctx, field, {1.2, 5, 2.5}, smoother);
    const std::vector<float> out = field.to_host(ctx);
    for (int c = 0; c < 3; ++c) {
      Volume<float> plane(ctx, g, std::vector<float>(v.begin() + c * n, v.begin() + (c + 1) * n));
      smooth(ctx, plane, {1.2, 5, 2.5}, smoother);
      EXPECT_EQ(plane.to_host(ctx),
                std::vector<float>(out.begin() + c * n, out.begin() + (c + 1) * n))
          << c;
    }
  }
}

TEST_P(Smoothing, GivesTheSameBitsOnEveryDeviceAndForAnyThreads) {
  for (const Extent extent : {Extent{61, 47, 33}, Extent{300, 5, 3}, Extent{1, 40, 1},
                              Extent{7, 1, 50}, Extent{5, 4, 260}}) {
    const Geometry g = plain_geometry(extent);
    const std::vector<float> v = random_values(3 * extent.count(), 2, -1, 1);
    for (const Smoother smoother :
         {Smoother::automatic, Smoother::recursive, Smoother::separable}) {
      const auto bits = [&](Context& c) {
        DisplacementField field(c, g, v);
        smooth(c, field, {1.7, 4.5, 0.7}, smoother);
        return field.to_host(c);
      };
      Context three({}, 3);
      const std::vector<float> expected = bits(cpu);
      EXPECT_EQ(bits(ctx), expected);
      EXPECT_EQ(bits(three), expected);
    }
  }
}

TEST_P(Smoothing, FftIsTheSeparableWindowOnEveryDevice) {
  for (const Extent extent : {Extent{61, 47, 33}, Extent{1, 40, 1}, Extent{7, 1, 50}}) {
    const Geometry g = plain_geometry(extent);
    DisplacementField expected(cpu, g, random_values(3 * extent.count(), 4, -1, 1)),
        out(ctx, g, expected.to_host(cpu));
    smooth(cpu, expected, {1.7, 0, 9}, Smoother::separable);
    smooth(ctx, out, {1.7, 0, 9}, Smoother::fft);
    const std::vector<float> a = expected.to_host(cpu), b = out.to_host(ctx);
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 2 * float_rounding) << extent.x;
  }
}

TEST_P(Smoothing, AllocatesNothingAndWaitsForNothing) {
  const Geometry g = plain_geometry({20, 20, 20});
  for (const Smoother smoother : {Smoother::automatic, Smoother::fft}) {
    Context fresh(GetParam());
    Context rehearsal = fresh.rehearsal();
    const GaussianFilter filter(fresh, g.extent, {1, 2, 6}, smoother),
        imagined(rehearsal, g.extent, {1, 2, 6}, smoother);
    EXPECT_EQ(fresh.statistics().bytes_in_use, rehearsal.statistics().bytes_in_use);
    DisplacementField a(fresh, g, random_values(3 * g.extent.count(), 1)), b(fresh, g);
    const ContextStatistics before = fresh.statistics();
    filter.apply(fresh, a.view(), b.view());
    EXPECT_EQ(fresh.statistics().allocations, before.allocations);
    EXPECT_EQ(fresh.statistics().synchronizations, before.synchronizations);
  }
}

/// As across thick slices, where a sigma in mm is a small part of a voxel.
TEST_P(Smoothing, ARecursiveFilterIsSeparableWhereSigmaIsSmall) {
  const Geometry g = plain_geometry({24, 20, 16});
  const auto smoothed = [&](const Eigen::Vector3d& sigma, Smoother smoother) {
    DisplacementField field(ctx, g, random_values(3 * g.extent.count(), 3, -1, 1));
    smooth(ctx, field, sigma, smoother);
    return field.to_host(ctx);
  };
  EXPECT_EQ(smoothed({0.3, 0.2, 0.49}, Smoother::recursive),
            smoothed({0.3, 0.2, 0.49}, Smoother::separable));
  const std::vector<float> both = smoothed({2, 2, 0.3}, Smoother::recursive),
                           separable = smoothed({2, 2, 0.3}, Smoother::separable);
  for (std::size_t i = 0; i < both.size(); ++i) ASSERT_NEAR(both[i], separable[i], 2e-3);
}

TEST_P(Smoothing, SaysWhatItCannot) {
  const Extent n{9, 9, 9};
  EXPECT_THROW(GaussianFilter(ctx, n, {-1, 0, 0}), InvalidArgument);
  EXPECT_THROW(GaussianFilter(ctx, n, {NAN, 0, 0}), InvalidArgument);
  EXPECT_THROW(GaussianFilter(ctx, n, {100, 0, 0}, Smoother::separable), InvalidArgument);
  EXPECT_THROW(GaussianFilter(ctx, n, {100, 0, 0}, Smoother::fft), InvalidArgument);
  EXPECT_FALSE(GaussianFilter(ctx, n, {0, 0, 0}).smooths());
  EXPECT_FALSE(GaussianFilter(ctx, n, {0, 0, 0}, Smoother::fft).smooths());
  EXPECT_FALSE(parse_smoother("fast").has_value());
}

}  // namespace
}  // namespace freeflow
