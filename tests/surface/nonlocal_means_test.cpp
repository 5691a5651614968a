// The whole denoising: against the double-precision reference, its invariances, and what it is for.
#include <freeflow/surface/nonlocal_means.h>

#include <algorithm>
#include <limits>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/portable_exp.h>
#include <freeflow/surface/signed_distance.h>

#include "reference/nonlocal_means.h"
#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;
using Eigen::Vector3d;

/// A ball with noise in its distance, mm.
std::vector<float> noisy_ball(const Geometry& g, double radius, float noise) {
  const std::vector<float> grain = random_values(g.extent.count(), 11, -noise, noise);
  const Eigen::Affine3d world = g.index_to_world();
  std::size_t i = 0;
  return voxelwise(g.extent, [&](int x, int y, int z) { return (world * Vector3d(x, y, z) - g.center()).norm() - radius + grain[i++]; });
}

TEST(PortableExp, IsTheExponential) {
  double largest = 0;
  for (double x = -86; x <= 0; x += 0.0137)
    largest = std::max(largest, std::abs(exp_nonpositive(float(x)) / std::exp(double(float(x))) - 1));
  EXPECT_LT(largest, 3e-7);
  EXPECT_EQ(exp_nonpositive(0), 1);
  EXPECT_EQ(exp_nonpositive(-1e9f), 0);
  EXPECT_EQ(exp_nonpositive(-std::numeric_limits<float>::infinity()), 0);
}

class NonlocalMeans : public OnDevice {};

/// The difference before the last transform is what eq. 16 gives; the transform of both is the same code.
TEST_P(NonlocalMeans, AgreesWithTheDoubleReference) {
  for (const Vector3d& spacing : {Vector3d(1, 1, 1), Vector3d(0.8, 0.8, 1.7)}) {
    const Geometry g = oblique_geometry({24, 23, spacing.z() > 1 ? 15 : 22}, spacing);
    const std::vector<float> start = noisy_ball(g, 6, 0.3f);
    NonlocalMeansOptions options;
    options.band = 2;
    options.c1 = 60;
    options.keep_volume = spacing.z() > 1;
    const NonlocalMeansResult r = nonlocal_means(ctx, Volume<float>(ctx, g, start), options);
    reference::NonlocalMeans same;
    same.band = 2;
    same.c1 = 60;
    same.keep_volume = spacing.z() > 1;
    const std::vector<double> phi = reference::nonlocal_means(std::vector<double>(start.begin(), start.end()), g, same);
    const Volume<float> expected =
        signed_distance(ctx, Volume<float>(ctx, g, std::vector<float>(phi.begin(), phi.end())), 0, Inside::below);
    const std::vector<float> a = r.distance.to_host(ctx), b = expected.to_host(ctx);
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, double(std::abs(a[i] - b[i])));
    EXPECT_LT(largest, 0.01 * spacing.minCoeff()) << spacing.transpose();  // issue 6
    EXPECT_GT(r.max_change_mm, 0.1);
  }
}

TEST_P(NonlocalMeans, TakesNoiseOffABall) {
  const Geometry g = plain_geometry({34, 34, 34});
  const std::vector<float> start = noisy_ball(g, 11, 0.5f);
  const Volume<float> noisy = signed_distance(ctx, Volume<float>(ctx, g, start), 0, Inside::below);
  const Volume<float> smooth = nonlocal_means(ctx, noisy, {}).distance;
  const auto error = [&](const Volume<float>& d) {
    const std::vector<float> values = d.to_host(ctx);
    double sum = 0, count = 0, bias = 0;
    std::size_t i = 0;
    for (int z = 0; z < 34; ++z)
      for (int y = 0; y < 34; ++y)
        for (int x = 0; x < 34; ++x, ++i) {
          const double exact = (Vector3d(x, y, z) - g.center()).norm() - 11;
          if (std::abs(exact) > 1) continue;
          sum += (values[i] - exact) * (values[i] - exact);
          bias += values[i] - exact;
          count += 1;
        }
    return std::pair(std::sqrt(sum / count), bias / count);
  };
  EXPECT_LT(error(smooth).first, 0.5 * error(noisy).first);
  EXPECT_LT(std::abs(error(smooth).second - error(noisy).second), 0.03);  // it does not shrink
}

TEST_P(NonlocalMeans, IsTheSameOnEveryDeviceAndInSlabs) {
  const Geometry g = oblique_geometry({31, 27, 18}, {1, 1.1, 1.6});
  const std::vector<float> start = noisy_ball(g, 9, 0.3f);
  NonlocalMeansOptions options;
  options.neighbours = 40;
  options.iterations = 4;
  const NonlocalMeansResult expected = nonlocal_means(cpu, Volume<float>(cpu, g, start), options);
  const NonlocalMeansResult whole = nonlocal_means(ctx, Volume<float>(ctx, g, start), options);
  EXPECT_EQ(whole.slabs, 1);
  EXPECT_EQ(whole.distance.to_host(ctx), expected.distance.to_host(cpu));
  options.memory_bytes = 1;
  const NonlocalMeansResult slabs = nonlocal_means(ctx, Volume<float>(ctx, g, start), options);
  EXPECT_GT(slabs.slabs, 3);
  EXPECT_EQ(slabs.distance.to_host(ctx), whole.distance.to_host(ctx));
}

TEST_P(NonlocalMeans, ARadiusThatReachesEverythingChangesNothing) {
  const Geometry g = plain_geometry({17, 16, 15});
  const Volume<float> start(ctx, g, noisy_ball(g, 5, 0.3f));
  NonlocalMeansOptions options;
  options.neighbours = 30;
  const std::vector<float> expected = nonlocal_means(ctx, start, options).distance.to_host(ctx);
  options.search_radius = 40;
  EXPECT_EQ(nonlocal_means(ctx, start, options).distance.to_host(ctx), expected);
  options.search_radius = 2;  // fewer candidates than neighbours
  EXPECT_NE(nonlocal_means(ctx, start, options).distance.to_host(ctx), expected);
}

TEST_P(NonlocalMeans, PredictsItsMemory) {
  const Geometry g = plain_geometry({34, 34, 34});
  Context fresh(GetParam());
  const Volume<float> start(fresh, g, noisy_ball(g, 11, 0.3f));
  fresh.reset_peak();
  const std::size_t before = fresh.statistics().bytes_in_use;
  const NonlocalMeansResult r = nonlocal_means(fresh, start, {});
  const double peak = double(fresh.statistics().peak_bytes - before);
  EXPECT_LT(peak, 1.02 * double(r.predicted_bytes));
  EXPECT_GT(peak, 0.8 * double(r.predicted_bytes));
}

TEST_P(NonlocalMeans, StopsWhenAsked) {
  struct Stop : NonlocalMeansObserver {
    bool stop_requested() override { return true; }
  } stop;
  const Geometry g = plain_geometry({17, 16, 15});
  EXPECT_THROW(nonlocal_means(ctx, Volume<float>(ctx, g, noisy_ball(g, 5, 0.3f)), {}, &stop), Cancelled);
}

TEST_P(NonlocalMeans, RefusesWhatItCannotDo) {
  const Geometry g = plain_geometry({12, 12, 4});
  const Volume<float> thin(ctx, g, noisy_ball(g, 4, 0.1f));
  EXPECT_THROW(nonlocal_means(ctx, thin, {}), InvalidArgument);  // 5 > 4
  NonlocalMeansOptions options;
  options.patch = 3;
  options.neighbours = 250;
  options.band = 0.1;
  const Volume<float> far(ctx, g, std::vector<float>(g.extent.count(), 50.0f));
  EXPECT_THROW(nonlocal_means(ctx, far, options), InvalidArgument);  // an empty band
  options.patch = 4;
  EXPECT_THROW(nonlocal_means(ctx, thin, options), InvalidArgument);
}

FREEFLOW_ON_EVERY_DEVICE(NonlocalMeans);

}  // namespace
}  // namespace freeflow
