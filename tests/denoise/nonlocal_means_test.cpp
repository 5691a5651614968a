// The whole denoising: against the double-precision reference, its invariances, and what it is for.
#include <freeflow/denoise/nonlocal_means.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/portable_exp.h>
#include <freeflow/denoise/signed_distance.h>

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
  return voxelwise(g.extent, [&](int x, int y, int z) {
    return (world * Vector3d(x, y, z) - g.center()).norm() - radius + grain[i++];
  });
}

std::vector<float> normal_noise(std::size_t count, double deviation) {
  std::mt19937 generator(5);
  const auto uniform = [&] { return (double(generator()) + 0.5) / 4294967296.0; };
  std::vector<float> values(count);
  for (float& v : values)
    v = float(deviation * std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform()));
  return values;
}

/// Exact distance to two blocks, voxels.
std::vector<float> blocks(Extent n) {
  const auto box = [](const Vector3d& p, const Vector3d& low, const Vector3d& high) {
    const Vector3d q = (low - p).cwiseMax(p - high);
    return q.cwiseMax(0).norm() + std::min(q.maxCoeff(), 0.0);
  };
  return voxelwise(n, [&](int x, int y, int z) {
    const Vector3d p(x, y, z);
    return std::min(box(p, {5.3, 5.3, 5.3}, {14.6, 20.6, 19.6}),
                    box(p, {18.3, 7.3, 7.3}, {27.6, 17.6, 17.6}));
  });
}

std::vector<float> sum_of(std::vector<float> a, const std::vector<float>& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
  return a;
}

struct Error {
  double root_mean_square = 0, mean = 0;
};

/// Of a distance, mm, within `within` of the true surface.
Error error_of(const std::vector<float>& values, const std::vector<float>& exact,
               double within = 1) {
  double square = 0, sum = 0, count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(exact[i]) > within) continue;
    const double e = double(values[i]) - exact[i];
    square += e * e;
    sum += e;
    count += 1;
  }
  return {std::sqrt(square / count), sum / count};
}

/// Where a surface cuts the edges of the grid, in voxels.
std::vector<Vector3d> cuts_of(const std::vector<float>& d, Extent n) {
  std::vector<Vector3d> cuts;
  for (int z = 0; z + 1 < n.z; ++z)
    for (int y = 0; y + 1 < n.y; ++y)
      for (int x = 0; x + 1 < n.x; ++x)
        for (int a = 0; a < 3; ++a) {
          const double from = d[n.offset(x, y, z)],
                       to = d[n.offset(x + (a == 0), y + (a == 1), z + (a == 2))];
          if ((from <= 0) != (to <= 0))
            cuts.push_back(Vector3d(x, y, z) + from / (from - to) * Vector3d::Unit(a));
        }
  return cuts;
}

/// The farthest that a point of one lies from all of the other. In plain numbers: there are
/// millions of pairs, also where nothing is inlined.
double farthest(const std::vector<Vector3d>& from, const std::vector<Vector3d>& to) {
  double most = 0;
  for (const Vector3d& p : from) {
    const double px = p.x(), py = p.y(), pz = p.z();
    double least = std::numeric_limits<double>::infinity();
    const double* q = to.data()->data();
    for (const double* end = q + 3 * to.size(); q != end; q += 3) {
      const double dx = px - q[0], dy = py - q[1], dz = pz - q[2],
                   square = dx * dx + dy * dy + dz * dz;
      if (square < least) least = square;
    }
    most = std::max(most, least);
  }
  return std::sqrt(most);
}

TEST(PortableExp, IsTheExponential) {
  double largest = 0;
  for (double x = -86; x <= 0; x += 0.0137)
    largest =
        std::max(largest, std::abs(exp_nonpositive(float(x)) / std::exp(double(float(x))) - 1));
  EXPECT_LT(largest, 3e-7);
  EXPECT_EQ(exp_nonpositive(0), 1);
  EXPECT_EQ(exp_nonpositive(-1e9f), 0);
  EXPECT_EQ(exp_nonpositive(-std::numeric_limits<float>::infinity()), 0);
}

class NonlocalMeans : public OnDevice {};

/// What eq. 16 gives, and that its surface stays where it is when it becomes a distance again: as
/// far from the edges of the grid that it cuts as a plain search says.
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
    const double unit = std::cbrt(spacing.prod());
    same.noise =
        reference::distance_noise(std::vector<double>(start.begin(), start.end()), g.extent, unit) /
        unit;
    EXPECT_NEAR(r.noise_mm, same.noise * unit, 1e-5);
    EXPECT_EQ(r.c2, same.c2);
    const std::vector<double> phi =
        reference::nonlocal_means(std::vector<double>(start.begin(), start.end()), g, same);
    const std::vector<float> level_set = r.level_set.to_host(ctx), d = r.distance.to_host(ctx);
    double largest = 0, off = 0;
    for (std::size_t i = 0; i < phi.size(); ++i)
      largest = std::max(largest, std::abs(level_set[i] - phi[i]));
    EXPECT_LT(largest, 0.01 * spacing.minCoeff()) << spacing.transpose();  // issue 6
    EXPECT_GT(r.max_change_mm, 0.1);
    std::vector<Vector3d> cuts = cuts_of({phi.begin(), phi.end()}, g.extent);
    for (Vector3d& cut : cuts) cut = cut.cwiseProduct(spacing);
    for (int z = 0; z < g.extent.z; ++z)
      for (int y = 0; y < g.extent.y; ++y)
        for (int x = 0; x < g.extent.x; ++x) {
          const std::size_t i = g.extent.offset(x, y, z);
          if (std::abs(phi[i]) > 1e-3) {
            ASSERT_EQ(d[i] < 0, phi[i] < 0) << x << ' ' << y << ' ' << z;
          }
          const double away = farthest({Vector3d(x, y, z).cwiseProduct(spacing)}, cuts);
          off = std::max(off, std::abs(std::abs(d[i]) - away));
        }
    EXPECT_LT(off, 0.5 * unit) << spacing.transpose();  // of points on edges alone
  }
}

TEST_P(NonlocalMeans, KnowsTheNoise) {
  NonlocalMeansOptions only_look;
  only_look.iterations = 0;
  only_look.neighbours = 1;
  only_look.search_radius = 1;
  const Geometry round = plain_geometry({34, 34, 34}, 2), edged = plain_geometry({34, 26, 25});
  const std::vector<float> ball = noisy_ball(round, 22, 0), sharp = blocks(edged.extent);
  for (const double noise : {0.0, 0.2, 0.5})
    for (const auto& [g, exact] : {std::pair{round, ball}, std::pair{edged, sharp}}) {
      const double side = g.spacing.x();
      const std::vector<float> start = sum_of(exact, normal_noise(exact.size(), noise * side));
      const NonlocalMeansResult r = nonlocal_means(ctx, Volume<float>(ctx, g, start), only_look);
      EXPECT_NEAR(r.noise_mm, noise * side, (0.05 * noise + 0.01) * side);
      EXPECT_EQ(r.noise_mm, nonlocal_means(cpu, Volume<float>(cpu, g, start), only_look).noise_mm);
      const double s = r.noise_mm / side;
      EXPECT_NEAR(r.c2, std::max(15.0, 187.5 * s * s), 1e-9);
      EXPECT_EQ(r.c2 == 15, noise < 0.3);  // so nothing changes for a noise of 0.2
      EXPECT_EQ(r.shift_mm, 0) << "no step, nothing to make up for";
    }
}

/// Sharp edges and a noise of half a voxel: more than the fixed c2 of a clean surface can take off.
TEST_P(NonlocalMeans, TakesStrongNoiseOffBlocks) {
  const Geometry g = plain_geometry({34, 26, 25});
  const std::vector<float> exact = blocks(g.extent),
                           start = sum_of(exact, normal_noise(exact.size(), 0.5));
  const NonlocalMeansResult smooth = nonlocal_means(ctx, Volume<float>(ctx, g, start), {});
  NonlocalMeansOptions fixed;
  fixed.c2 = 15;
  const std::vector<float> before =
      nonlocal_means(ctx, Volume<float>(ctx, g, start), fixed).level_set.to_host(ctx);
  const double error = error_of(smooth.level_set.to_host(ctx), exact).root_mean_square;
  EXPECT_LT(error, 0.33 * error_of(start, exact).root_mean_square);
  EXPECT_LT(error, 0.5 * error_of(before, exact).root_mean_square);
  if (!GetParam().is_cuda()) return;
  EXPECT_EQ(smooth.distance.to_host(ctx),
            nonlocal_means(cpu, Volume<float>(cpu, g, start), {}).distance.to_host(cpu));
}

TEST_P(NonlocalMeans, TakesNoiseOffABallAndKeepsItsVolume) {
  const Geometry g = plain_geometry({30, 30, 30});
  const std::vector<float> exact = noisy_ball(g, 9, 0), start = noisy_ball(g, 9, 0.5f);
  const std::vector<float> noisy =
      signed_distance(ctx, Volume<float>(ctx, g, start), 0, Inside::below).to_host(ctx);
  const Error before = error_of(noisy, exact);
  const Error after =
      error_of(nonlocal_means(ctx, Volume<float>(ctx, g, noisy), {}).distance.to_host(ctx), exact);
  EXPECT_LT(after.root_mean_square, 0.5 * before.root_mean_square);
  EXPECT_LT(std::abs(after.mean - before.mean), 0.03);  // it does not shrink
  // White noise as it comes: where phi is small it is negative on average, here by 2 s^2 / radius.
  const Geometry small = plain_geometry({26, 26, 26});
  const std::vector<float> clean = noisy_ball(small, 8, 0);
  const Volume<float> white(ctx, small, sum_of(clean, normal_noise(clean.size(), 0.5)));
  EXPECT_LT(std::abs(error_of(nonlocal_means(ctx, white, {}).level_set.to_host(ctx), clean).mean),
            0.03);
}

/// The staircase of a mask is no noise to it: all is as with the c2 that was chosen for masks.
TEST_P(NonlocalMeans, TreatsAMaskAsBefore) {
  const Geometry g = plain_geometry({28, 28, 28});
  std::vector<float> mask = noisy_ball(g, 8, 0);
  for (float& v : mask) v = v < 0 ? 1.0f : 0.0f;
  const Volume<float> start = signed_distance(ctx, Volume<float>(ctx, g, mask), 0.5, Inside::above);
  NonlocalMeansOptions fixed;
  fixed.c2 = 15;
  const NonlocalMeansResult r = nonlocal_means(ctx, start, {});
  EXPECT_EQ(r.distance.to_host(ctx), nonlocal_means(ctx, start, fixed).distance.to_host(ctx));
  const std::vector<float> exact = noisy_ball(g, 8, 0);
  EXPECT_LT(error_of(r.distance.to_host(ctx), exact).root_mean_square,
            0.6 * error_of(start.to_host(ctx), exact).root_mean_square);
}

/// A ball with a spike and a pit a voxel thick: both shrink and fill unless there is a limit.
TEST_P(NonlocalMeans, HoldsThinPartsWithinTheLimit) {
  const Geometry g = plain_geometry({24, 20, 20});
  const Extent n = g.extent;
  const std::vector<float> mask = voxelwise(n, [&](int x, int y, int z) {
    const bool strand = y == 10 && z == 10 && x >= 14 && x < 20, pit = x == 10 && y == 8 && z < 8;
    return strand || (!pit && (Vector3d(x, y, z) - Vector3d(10, 10, 10)).norm() < 6);
  });
  const Volume<float> start = signed_distance(ctx, Volume<float>(ctx, g, mask), 0.5, Inside::above);
  const std::vector<Vector3d> before = cuts_of(start.to_host(ctx), n);
  NonlocalMeansOptions options;
  options.c2 = 100;
  const NonlocalMeansResult free = nonlocal_means(ctx, start, options);
  EXPECT_EQ(free.held_voxels, 0);
  EXPECT_GT(farthest(before, cuts_of(free.distance.to_host(ctx), n)), 2);
  for (const double limit : {1.0, 0.6}) {
    options.limit = limit;
    const NonlocalMeansResult held = nonlocal_means(ctx, start, options);
    EXPECT_GT(held.held_voxels, 5);
    for (const Volume<float>* d : {&held.distance, &held.level_set}) {
      const std::vector<Vector3d> after = cuts_of(d->to_host(ctx), n);
      EXPECT_LE(farthest(before, after), limit + 1e-5);
      EXPECT_LE(farthest(after, before), limit + 1e-5);
    }
    if (!GetParam().is_cuda()) continue;
    const NonlocalMeansResult same =
        nonlocal_means(cpu, Volume<float>(cpu, g, start.to_host(ctx)), options);
    EXPECT_EQ(held.distance.to_host(ctx), same.distance.to_host(cpu));
    EXPECT_EQ(held.held_voxels, same.held_voxels);
  }
}

TEST_P(NonlocalMeans, IsTheSameOnEveryDeviceAndInSlabs) {
  const Geometry g = oblique_geometry({31, 27, 18}, {1, 1.1, 1.6});
  const std::vector<float> start = noisy_ball(g, 9, 0.3f);
  NonlocalMeansOptions options;
  options.neighbours = 40;
  options.iterations = 4;
  const NonlocalMeansResult whole = nonlocal_means(ctx, Volume<float>(ctx, g, start), options);
  EXPECT_EQ(whole.slabs, 1);
  if (GetParam().is_cuda()) {
    EXPECT_EQ(whole.distance.to_host(ctx),
              nonlocal_means(cpu, Volume<float>(cpu, g, start), options).distance.to_host(cpu));
  }
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
  const Geometry g = plain_geometry({28, 28, 28});
  Context fresh(GetParam());
  const Volume<float> start(fresh, g, noisy_ball(g, 8, 0.3f));
  NonlocalMeansOptions held;
  held.limit = 0.2;
  held.patch = 3;
  held.neighbours = 4;  // so that the search takes less than the distances
  for (const NonlocalMeansOptions& options : {NonlocalMeansOptions{}, held}) {
    fresh.reset_peak();
    const std::size_t before = fresh.statistics().bytes_in_use;
    const NonlocalMeansResult r = nonlocal_means(fresh, start, options);
    const double peak = double(fresh.statistics().peak_bytes - before);
    EXPECT_LT(peak, 1.02 * double(r.predicted_bytes));
    EXPECT_GT(peak, 0.8 * double(r.predicted_bytes));
  }
}

TEST_P(NonlocalMeans, StopsWhenAsked) {
  struct Stop : NonlocalMeansObserver {
    bool stop_requested() override { return true; }
  } stop;
  const Geometry g = plain_geometry({17, 16, 15});
  EXPECT_THROW(nonlocal_means(ctx, Volume<float>(ctx, g, noisy_ball(g, 5, 0.3f)), {}, &stop),
               Cancelled);
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
  const Geometry cube = plain_geometry({16, 16, 16});
  std::vector<float> distance = noisy_ball(cube, 5, 0.1f);
  EXPECT_NO_THROW(nonlocal_means(ctx, Volume<float>(ctx, cube, distance), {}));
  distance[0] = NAN;  // far from the surface
  EXPECT_THROW(nonlocal_means(ctx, Volume<float>(ctx, cube, distance), {}), InvalidArgument);
}

FREEFLOW_ON_EVERY_DEVICE(NonlocalMeans);

}  // namespace
}  // namespace freeflow
