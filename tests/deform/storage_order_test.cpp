// Grids stored otherwise: every voxel and every displacement keeps its place in the world.
#include <freeflow/deform/storage_order.h>

#include <gtest/gtest.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

/// Oblique, anisotropic, its axes in the given order and senses.
Geometry stored_grid(const std::array<int, 3>& axis, const std::array<double, 3>& sign) {
  const Eigen::Matrix3d oblique =
      Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, -2, 3).normalized()).toRotationMatrix();
  const int extent[3] = {5, 7, 4};
  const double spacing[3] = {1.5, 0.8, 3};
  Geometry g;
  g.extent = {extent[axis[0]], extent[axis[1]], extent[axis[2]]};
  for (int k = 0; k < 3; ++k) {
    g.spacing[k] = spacing[axis[k]];
    g.direction.col(k) = sign[k] * oblique.col(axis[k]);
  }
  g.origin = {10, -20, 30};
  return g;
}

class StoredVolume : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(StoredVolume);

TEST(StorageOrder, AxesRunToTheRightTheFrontAndTheTop) {
  std::array<int, 3> axis = {0, 1, 2};
  do {
    for (int flips = 0; flips < 8; ++flips) {
      const auto sign = [&](int k) { return flips >> k & 1 ? -1.0 : 1.0; };
      const Geometry stored = stored_grid(axis, {sign(0), sign(1), sign(2)}),
                     grid = ordered(stored, canonical_order(stored));
      EXPECT_LT(grid.direction(0, 0), -0.7);  // LPS: to the right
      EXPECT_LT(grid.direction(1, 1), -0.7);
      EXPECT_GT(grid.direction(2, 2), 0.7);
      EXPECT_EQ(grid.extent, (Extent{5, 7, 4}));
      EXPECT_TRUE(canonical_order(grid).as_stored());
      EXPECT_LT((grid.center() - stored.center()).norm(), 1e-9);
    }
  } while (std::next_permutation(axis.begin(), axis.end()));
}

TEST(StorageOrder, AxesHalfWayBetweenTwoOfTheWorldStayAsStored) {
  Geometry g = plain_geometry({5, 7, 4});
  g.direction = Eigen::AngleAxisd(EIGEN_PI / 4, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  EXPECT_EQ(canonical_order(g).axis, (std::array{0, 1, 2}));
}

TEST_P(StoredVolume, TheWayBackGivesTheVoxelsAsTheyCame) {
  const Geometry stored = stored_grid({2, 0, 1}, {1, -1, 1});
  const StorageOrder order = canonical_order(stored);
  ASSERT_FALSE(order.as_stored());
  std::vector<float> voxels(stored.extent.count());
  for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = float(i);
  const Volume<float> there = ordered(ctx, Volume<float>(ctx, stored, voxels), order),
                      back = as_stored(ctx, there, stored, order);
  EXPECT_NE(there.to_host(ctx), voxels);
  EXPECT_EQ(back.to_host(ctx), voxels);
  EXPECT_EQ(back.geometry().origin, stored.origin);
  EXPECT_THROW(as_stored(ctx, back, stored, order), InvalidArgument) << "not in order";
}

TEST_P(StoredVolume, VoxelsAndDisplacementsKeepTheirPlaceInTheWorld) {
  std::array<int, 3> axis = {0, 1, 2};
  do {
    for (int flips = 0; flips < 8; flips += 3) {
      const auto sign = [&](int k) { return flips >> k & 1 ? -1.0 : 1.0; };
      const Geometry stored = stored_grid(axis, {sign(0), sign(1), sign(2)});
      const StorageOrder order = canonical_order(stored);
      const Geometry grid = ordered(stored, order);
      const auto number = [](const Eigen::Vector3d& p) {
        return float(std::sin(p.x()) + 2 * std::cos(p.y()) + 0.1 * p.z());
      };
      const auto vector = [&](const Eigen::Vector3d& p) {
        return Eigen::Vector3d(number(p), 0.5 * number(2 * p), p.x() - p.z());
      };
      const auto scalars = [&](const Geometry& g) {
        return voxelwise(g.extent, [&](int x, int y, int z) {
          return number(g.index_to_world() * Eigen::Vector3d(x, y, z));
        });
      };
      const auto field = [&](const Geometry& g) {
        std::vector<float> planes(3 * g.extent.count());
        for (int z = 0; z < g.extent.z; ++z)
          for (int y = 0; y < g.extent.y; ++y)
            for (int x = 0; x < g.extent.x; ++x) {
              const Eigen::Vector3d world = vector(g.index_to_world() * Eigen::Vector3d(x, y, z));
              const Eigen::Vector3d u = (g.direction.transpose() * world).cwiseQuotient(g.spacing);
              for (int c = 0; c < 3; ++c)
                planes[c * g.extent.count() + g.extent.offset(x, y, z)] = float(u[c]);
            }
        return planes;
      };
      const std::vector<float> image =
          ordered(ctx, Volume<float>(ctx, stored, scalars(stored)), order).to_host(ctx);
      const std::vector<float> expected = scalars(grid);
      for (std::size_t i = 0; i < image.size(); ++i) EXPECT_NEAR(image[i], expected[i], 1e-5);
      const std::vector<float> u =
          as_stored(ctx, DisplacementField(ctx, grid, field(grid)), stored, order).to_host(ctx);
      const std::vector<float> expected_u = field(stored);
      for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], expected_u[i], 1e-4);
    }
  } while (std::next_permutation(axis.begin(), axis.end()));
  EXPECT_THROW(as_stored(ctx, DisplacementField(ctx, stored_grid({0, 1, 2}, {1, 1, 1})),
                         stored_grid({1, 0, 2}, {1, 1, 1}), {}),
               InvalidArgument);
}

}  // namespace
}  // namespace freeflow
