// Signed distances against closed forms and a plain search, on every device.
#include <freeflow/denoise/signed_distance.h>

#include <algorithm>

#include <freeflow/denoise/mesh.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;
using Eigen::Vector3d;

class SignedDistance : public OnDevice {
 protected:
  template <class F>
  double largest_error(const Volume<float>& d, double within, F&& exact) {
    const std::vector<float> values = d.to_host(ctx);
    const Eigen::Affine3d world = d.geometry().index_to_world();
    double largest = 0;
    std::size_t i = 0;
    const Extent n = d.extent();
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x, ++i) {
          const double e = exact(Vector3d(world * Vector3d(x, y, z)));
          if (std::abs(e) <= within) largest = std::max(largest, std::abs(values[i] - e));
        }
    return largest;
  }
};

TEST_P(SignedDistance, OfAPlaneIsExact) {
  const Geometry g = oblique_geometry({31, 27, 18});
  const Vector3d normal = Vector3d(0.3, -0.5, 0.8).normalized(), at = g.center();
  // Where the nearest point lies well within the grid: beyond it nothing is known.
  const Eigen::Affine3d to_index = g.world_to_index();
  const auto height = [&](const Vector3d& p) { return normal.dot(p - at); };
  const auto exact = [&](const Vector3d& p) {
    const Vector3d foot = to_index * Vector3d(p - height(p) * normal);
    const bool known = foot.minCoeff() > 2 && foot.x() < 28 && foot.y() < 24 && foot.z() < 15;
    return known ? height(p) : 1e9;
  };
  const Volume<float> image =
      sample_world(ctx, g, [&](const Vector3d& p) { return 40 - 7 * height(p); });
  EXPECT_LT(largest_error(signed_distance(ctx, image, 40, Inside::above), 6, exact), 0.05);
  EXPECT_LT(largest_error(signed_distance(ctx, image, 40, Inside::above), 1, exact), 1e-4);
}

TEST_P(SignedDistance, OfABallIsGoodToAFractionOfAVoxel) {
  for (const Vector3d& spacing : {Vector3d(1, 1, 1), Vector3d(1, 1, 2.5)}) {
    Geometry g = oblique_geometry({48, 48, int(48 / spacing.z())}, spacing);
    const Vector3d at = g.center();
    const auto exact = [&](const Vector3d& p) { return (p - at).norm() - 15; };
    const Volume<float> image = sample_world(ctx, g, exact);
    const double unit = std::cbrt(spacing.prod());
    EXPECT_LT(largest_error(signed_distance(ctx, image, 0, Inside::below), 10, exact), 0.12 * unit)
        << spacing.transpose();
  }
}

TEST_P(SignedDistance, OfABoxMaskIsThatOfItsFaces) {
  const Geometry g = plain_geometry({24, 22, 20});
  const auto inside = [](int x, int y, int z) {
    return x >= 6 && x < 17 && y >= 5 && y < 15 && z >= 7 && z < 13;
  };
  const Volume<float> mask(ctx, g, voxelwise(g.extent, inside));
  const std::vector<float> d = signed_distance(ctx, mask, 0.5, Inside::above).to_host(ctx);
  const VolumeView<const float> v{d.data(), g.extent};
  for (int x = 0; x < 24; ++x)
    EXPECT_NEAR(v(x, 10, 10), std::max({5.5 - x, x - 16.5, -2.5}), 1e-5)
        << x;  // the nearest face inside is one of z
  for (int z = 0; z < 20; ++z) EXPECT_NEAR(v(11, 10, z), std::max({6.5 - z, z - 12.5}), 1e-5) << z;
}

/// The least squared distance between voxel centres: what the envelopes must find.
TEST_P(SignedDistance, FarFromASpeckIsTheEuclideanDistance) {
  const Geometry g = oblique_geometry({61, 47, 33}, {0.7, 1.1, 1.9});
  std::vector<float> mask(g.extent.count(), 0.0f);
  const std::vector<Vector3d> specks{{8, 9, 4}, {50, 40, 30}, {30, 10, 20}, {3, 44, 16}};
  for (const Vector3d& s : specks)
    mask[std::size_t(s.z() * 47 + s.y()) * 61 + std::size_t(s.x())] = 1;
  const std::vector<float> d =
      signed_distance(ctx, Volume<float>(ctx, g, mask), 0.5, Inside::above).to_host(ctx);
  std::size_t i = 0;
  double largest = 0;
  for (int z = 0; z < 33; ++z)
    for (int y = 0; y < 47; ++y)
      for (int x = 0; x < 61; ++x, ++i) {
        double least = 1e9;
        for (const Vector3d& s : specks)
          least = std::min(least, (Vector3d(x, y, z) - s).cwiseProduct(g.spacing).norm());
        largest = std::max(largest, std::abs(d[i] - least));
      }
  EXPECT_LT(largest, 1.2);  // the speck's own surface lies within half a voxel's diagonal
}

TEST_P(SignedDistance, IsTheSameOnEveryDevice) {
  const Geometry g = oblique_geometry({61, 47, 33});
  const std::vector<float> image = voxelwise(g.extent, [](int x, int y, int z) {
    return std::sin(0.3 * x) + std::cos(0.25 * y) - std::sin(0.4 * z + 0.1 * x);
  });
  EXPECT_EQ(signed_distance(ctx, Volume<float>(ctx, g, image), 0.2, Inside::above).to_host(ctx),
            signed_distance(cpu, Volume<float>(cpu, g, image), 0.2, Inside::above).to_host(cpu));
}

TEST_P(SignedDistance, WithoutASurfaceIsRefused) {
  const Geometry g = plain_geometry({5, 5, 5});
  EXPECT_THROW(signed_distance(ctx, Volume<float>(ctx, g, std::vector<float>(125, 1.0f)), 0.5,
                               Inside::above),
               RegistrationError);
}

TEST_P(SignedDistance, OfAnUnusableGeometryIsRefused) {
  Geometry g = plain_geometry({5, 5, 5});
  g.spacing.y() = 0;
  std::vector<float> half(125, 0.0f);
  std::fill_n(half.begin(), 50, 1.0f);
  EXPECT_THROW(signed_distance(ctx, Volume<float>(ctx, g, half), 0.5, Inside::above),
               InvalidArgument);
  EXPECT_THROW(signed_distance(ctx, g, std::vector<SurfaceSeed>(125), half), InvalidArgument);
}

/// An octahedron cut `levels` times and drawn onto a ball.
TriangleMesh ball_mesh(const Vector3d& at, double radius, int levels) {
  TriangleMesh mesh{
      {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}},
      {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}}};
  for (int l = 0; l < levels; ++l) {
    std::vector<std::array<int, 3>> finer;
    std::vector<std::pair<std::pair<int, int>, int>> known;
    const auto middle = [&](int a, int b) {
      const auto key = std::minmax(a, b);
      for (const auto& [edge, point] : known)
        if (edge == std::pair<int, int>(key)) return point;
      mesh.points.push_back((mesh.points[a] + mesh.points[b]).normalized());
      known.push_back({key, int(mesh.points.size()) - 1});
      return int(mesh.points.size()) - 1;
    };
    for (const auto& [a, b, c] : mesh.triangles) {
      const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
      for (const std::array<int, 3>& t : {std::array{a, ab, ca}, std::array{ab, b, bc},
                                          std::array{ca, bc, c}, std::array{ab, bc, ca}})
        finer.push_back(t);
    }
    mesh.triangles = finer;
  }
  for (Vector3d& p : mesh.points) p = at + radius * p;
  return mesh;
}

TEST_P(SignedDistance, OfAMeshIsThatOfItsTriangles) {
  const TriangleMesh mesh = ball_mesh({3, -2, 7}, 12, 4);
  require_closed(mesh, "ball");
  const Geometry g = grid_around(mesh, 1, 6);
  const auto exact = [](const Vector3d& p) { return (p - Vector3d(3, -2, 7)).norm() - 12; };
  EXPECT_LT(largest_error(signed_distance(ctx, mesh, g), 5, exact), 0.05);
  Geometry other = g;
  other.spacing = {0.8, 1.2, 1.6};
  other.extent = {46, 31, 24};
  EXPECT_LT(largest_error(signed_distance(ctx, mesh, other), 5, exact), 0.1);
}

/// A box, of two triangles to a side, all turned outwards.
TriangleMesh box_mesh(const Vector3d& low, const Vector3d& high) {
  TriangleMesh mesh;
  for (int corner = 0; corner < 8; ++corner)
    mesh.points.emplace_back(corner & 1 ? high.x() : low.x(), corner & 2 ? high.y() : low.y(),
                             corner & 4 ? high.z() : low.z());
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return mesh;
}

/// Rows of voxels that meet faces' edges and diagonals cross the surface once there, whichever way
/// the faces are turned and where a part of the box lies beyond the grid.
TEST_P(SignedDistance, OfABoxWhoseEdgesMeetVoxelsHasItsSides) {
  Geometry g = plain_geometry({12, 11, 10});
  g.spacing = {1, 2, 1.5};
  const Eigen::Affine3d world = g.index_to_world();
  for (const Vector3d& first : {Vector3d(3, 2, 2), Vector3d(-4, 2, 3), Vector3d(3, -2, -1)}) {
    const Vector3d low = world * first, high = world * Vector3d(8, 7, 6);
    TriangleMesh mesh = box_mesh(low, high);
    require_closed(mesh, "box");
    for (std::size_t t = 0; t < mesh.triangles.size(); t += 3)
      std::swap(mesh.triangles[t][0], mesh.triangles[t][1]);
    const auto exact = [&](const Vector3d& p) {
      const Vector3d beyond = (low - p).cwiseMax(p - high);
      return beyond.cwiseMax(0).norm() + std::min(beyond.maxCoeff(), 0.0);
    };
    const Volume<float> distance = signed_distance(ctx, mesh, g);
    EXPECT_LT(largest_error(distance, 2, exact), 1) << "a voxel's shortest side, at its edges";
    const std::vector<float> values = distance.to_host(ctx);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int x = int(i) % 12, y = int(i) / 12 % 11, z = int(i) / 132;
      const double e = exact(world * Vector3d(x, y, z));
      if (std::abs(e) < 1e-6) continue;
      ASSERT_EQ(values[i] < 0, e < 0)
          << x << ' ' << y << ' ' << z << ", from " << first.transpose();
    }
  }
}

TEST(Mesh, IsSurroundedByItsGrid) {
  const TriangleMesh mesh = box_mesh({1, 2, 3}, {4, 4.5, 10});
  EXPECT_EQ(longest_side(mesh), 7);
  const Geometry g = grid_around(mesh, 2, 3);
  EXPECT_EQ(g.extent, (Extent{2 + 7, 2 + 7, 4 + 7}));
  EXPECT_EQ(g.origin, Vector3d(1 - 6, 2 - 6, 3 - 6));
  EXPECT_EQ(g.spacing, Vector3d(2, 2, 2));
  EXPECT_THROW(grid_around(mesh, 1e-3, 3), InvalidArgument);
}

TEST(Mesh, KnowsAnOpenOne) {
  TriangleMesh mesh = ball_mesh({0, 0, 0}, 5, 1);
  EXPECT_NO_THROW(require_closed(mesh, "ball"));
  mesh.triangles.pop_back();
  EXPECT_THROW(require_closed(mesh, "ball"), InvalidArgument);
  TriangleMesh half = ball_mesh({0, 0, 0}, 5, 0);  // whose corners all have an even number
  std::erase_if(half.triangles, [](const auto& t) { return std::ranges::count(t, 0) > 0; });
  ASSERT_EQ(half.triangles.size(), 4u);
  EXPECT_THROW(require_closed(half, "ball"), InvalidArgument);
  TriangleMesh nowhere = ball_mesh({0, 0, 0}, 5, 0);
  nowhere.points[2].y() = NAN;
  EXPECT_THROW(require_closed(nowhere, "ball"), InvalidArgument);
  mesh.triangles.clear();
  EXPECT_THROW(require_closed(mesh, "ball"), InvalidArgument);
}

FREEFLOW_ON_EVERY_DEVICE(SignedDistance);

}  // namespace
}  // namespace freeflow
