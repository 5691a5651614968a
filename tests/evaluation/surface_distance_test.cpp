// Surface distances against closed forms and against all pairs of surface voxels.
#include <freeflow/evaluation/surface_distance.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

template <class F>
Volume<std::int32_t> labels_of(Context& ctx, const Geometry& g, F&& f) {
  std::vector<std::int32_t> voxels;
  for (int z = 0; z < g.extent.z; ++z)
    for (int y = 0; y < g.extent.y; ++y)
      for (int x = 0; x < g.extent.x; ++x) voxels.push_back(f(x, y, z));
  return Volume<std::int32_t>(ctx, g, voxels);
}

SurfaceDistance distance_of(const Volume<std::int32_t>& a, const Volume<std::int32_t>& b,
                            std::int32_t label = 1, int threads = 1) {
  Context cpu({}, threads);
  return surface_distance(cpu, a, b, std::vector<std::int32_t>{label}).front();
}

/// The definition, slowly: the surface voxels' centres in mm.
std::vector<Eigen::Vector3d> surface(const std::vector<std::int32_t>& v, const Geometry& g,
                                     std::int32_t label) {
  const Extent n = g.extent;
  const auto is = [&](int x, int y, int z) {
    return x >= 0 && y >= 0 && z >= 0 && x < n.x && y < n.y && z < n.z &&
           v[n.offset(x, y, z)] == label;
  };
  std::vector<Eigen::Vector3d> points;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x)
        if (is(x, y, z) && !(is(x - 1, y, z) && is(x + 1, y, z) && is(x, y - 1, z) &&
                             is(x, y + 1, z) && is(x, y, z - 1) && is(x, y, z + 1)))
          points.push_back(g.index_to_world() * Eigen::Vector3d(x, y, z));
  return points;
}

/// numpy.percentile of all distances from one set to the other, sorted.
std::vector<double> all_distances(const std::vector<Eigen::Vector3d>& from,
                                  const std::vector<Eigen::Vector3d>& to) {
  std::vector<double> distances;
  for (const Eigen::Vector3d& p : from) {
    double least = INFINITY;
    for (const Eigen::Vector3d& q : to) least = std::min(least, (p - q).norm());
    distances.push_back(least);
  }
  std::sort(distances.begin(), distances.end());
  return distances;
}

double sorted_percentile(const std::vector<double>& sorted, double percent) {
  const double rank = percent / 100 * double(sorted.size() - 1);
  const auto low = std::size_t(rank), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (rank - double(low)) * (sorted[high] - sorted[low]);
}

TEST(SurfaceDistance, ABoxShiftedByVoxelsIsTheirLengthApart) {
  Context cpu;
  Geometry g = oblique_geometry({24, 20, 16}, {0.8, 1.1, 2.5});
  const auto box = [&](int shift) {
    return labels_of(cpu, g, [&](int x, int y, int z) {
      return x >= 5 && x < 10 && y >= 4 && y < 9 && z >= 3 + shift && z < 7 + shift;
    });
  };
  const SurfaceDistance same = distance_of(box(0), box(0));
  EXPECT_EQ(same.hausdorff_mm, 0);
  EXPECT_EQ(same.hausdorff95_mm, 0);
  EXPECT_EQ(same.mean_mm, 0);
  EXPECT_EQ(same.first_surface_voxels, 5u * 5 * 4 - 3u * 3 * 2);
  const SurfaceDistance far = distance_of(box(0), box(3));
  EXPECT_NEAR(far.hausdorff_mm, 7.5, 1e-12);
  EXPECT_NEAR(far.hausdorff95_mm, 7.5, 1e-12) << "a quarter of the voxels is so far away";
  EXPECT_GT(far.mean_mm, 1);
  EXPECT_LT(far.mean_mm, 7.5);
}

TEST(SurfaceDistance, SingleVoxelsLieOnTheirDiagonalApart) {
  Context cpu;
  Geometry g = plain_geometry({9, 8, 7});
  g.spacing = {0.7, 1.3, 3};
  const auto voxel = [&](int i, int j, int k) {
    return labels_of(cpu, g, [=](int x, int y, int z) { return x == i && y == j && z == k; });
  };
  const SurfaceDistance d = distance_of(voxel(0, 0, 0), voxel(8, 7, 6));
  const double diagonal = Eigen::Vector3d(8 * 0.7, 7 * 1.3, 6 * 3).norm();
  EXPECT_NEAR(d.hausdorff_mm, diagonal, 1e-12);
  EXPECT_NEAR(d.hausdorff95_mm, diagonal, 1e-12);
  EXPECT_NEAR(d.mean_mm, diagonal, 1e-12);
}

TEST(SurfaceDistance, ATranslatedBallIsItsTranslationAway) {
  Context cpu;
  const Geometry g = plain_geometry({64, 48, 48});
  const auto ball = [&](double shift) {
    return labels_of(cpu, g, [=](int x, int y, int z) {
      return (Eigen::Vector3d(x, y, z) - Eigen::Vector3d(24 + shift, 24, 24)).norm() < 15;
    });
  };
  const SurfaceDistance d = distance_of(ball(0), ball(8));
  EXPECT_NEAR(d.hausdorff_mm, 8, 1e-12);
  EXPECT_NEAR(d.mean_mm, 4, 0.4) << "the mean of 8 |cos| over a sphere, but for the staircase";
  EXPECT_GT(d.hausdorff95_mm, 7);
  EXPECT_LE(d.hausdorff95_mm, 8);
}

TEST(SurfaceDistance, IsThatOfAllPairsForAnyShape) {
  Context cpu;
  const Geometry g = oblique_geometry({17, 13, 11}, {1.2, 0.7, 2.9});
  std::mt19937 random(5);
  for (const int density : {2, 5, 40}) {
    const auto noise = [&](int, int, int) { return std::int32_t(random() % unsigned(density)); };
    const Volume<std::int32_t> a = labels_of(cpu, g, noise), b = labels_of(cpu, g, noise);
    const std::vector<Eigen::Vector3d> on_a = surface(a.to_host(cpu), g, 1),
                                       on_b = surface(b.to_host(cpu), g, 1);
    const std::vector<double> there = all_distances(on_a, on_b), back = all_distances(on_b, on_a);
    double sum = 0;
    for (const std::vector<double>* way : {&there, &back})
      for (const double d : *way) sum += d;
    const SurfaceDistance d = distance_of(a, b);
    EXPECT_EQ(d.first_surface_voxels, on_a.size());
    EXPECT_EQ(d.second_surface_voxels, on_b.size());
    EXPECT_NEAR(d.hausdorff_mm, std::max(there.back(), back.back()), 1e-9);
    EXPECT_NEAR(d.hausdorff95_mm,
                std::max(sorted_percentile(there, 95), sorted_percentile(back, 95)), 1e-9);
    EXPECT_NEAR(d.mean_mm, sum / double(there.size() + back.size()), 1e-9);
    const SurfaceDistance threaded = distance_of(a, b, 1, 3);
    EXPECT_EQ(threaded.hausdorff95_mm, d.hausdorff95_mm);
    EXPECT_EQ(threaded.mean_mm, d.mean_mm) << "the same bits for any number of threads";
  }
}

TEST(SurfaceDistance, KeepsLabelsApartAndMissesNone) {
  Context cpu;
  const Geometry g = plain_geometry({12, 6, 6});
  const Volume<std::int32_t> a = labels_of(cpu, g, [](int x, int, int) { return x < 6 ? 1 : -2; });
  const Volume<std::int32_t> b = labels_of(cpu, g, [](int x, int, int) { return x < 9 ? 1 : 3; });
  const std::vector<SurfaceDistance> d =
      surface_distance(cpu, a, b, std::vector<std::int32_t>{-2, 1, 3, 4});
  EXPECT_TRUE(std::isnan(d[0].hausdorff95_mm)) << "missing in the second";
  EXPECT_EQ(d[0].second_surface_voxels, 0u);
  EXPECT_DOUBLE_EQ(d[1].hausdorff_mm, 3);
  EXPECT_TRUE(std::isnan(d[2].mean_mm)) << "missing in the first";
  EXPECT_TRUE(std::isnan(d[3].hausdorff_mm)) << "missing in both";
}

}  // namespace
}  // namespace freeflow
