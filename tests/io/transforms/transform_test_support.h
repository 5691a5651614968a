// What the tests of transform files share: the six geometries of docs/transforms.md, an affine, a
// field and points.
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <freeflow/io/transforms/transform_formats.h>

#include "../io_test_support.h"

namespace freeflow::test {

inline Geometry grid_of(Extent extent, const Eigen::Matrix3d& direction,
                        const Eigen::Vector3d& spacing, const Eigen::Vector3d& origin) {
  return {extent, spacing, origin, direction};
}

inline Eigen::Matrix3d turned(const Eigen::Vector3d& axis, double degrees) {
  return Eigen::AngleAxisd(degrees * std::numbers::pi / 180, axis.normalized()).toRotationMatrix();
}

/// LPS directions: the identity, LAS, oblique by 20 degrees, anisotropic, cropped, permuted axes.
inline std::vector<std::pair<std::string, Geometry>> six_geometries() {
  const Eigen::Matrix3d identity = Eigen::Matrix3d::Identity();
  Eigen::Matrix3d las = identity;
  las(1, 1) = -1;
  Eigen::Matrix3d permuted;
  permuted << 0, 0, 1, -1, 0, 0, 0, -1, 0;
  return {{"identity", grid_of({11, 9, 8}, identity, {1, 1, 1}, {0, 0, 0})},
          {"LAS", grid_of({10, 9, 7}, las, {1.5, 1.5, 2}, {-30, 20, -12})},
          {"oblique", grid_of({9, 11, 8}, turned({1, 2, 3}, 20), {1.25, 1, 1.5}, {-18, 16, -14})},
          {"anisotropic", grid_of({11, 10, 6}, identity, {1, 1, 5}, {15, 14, -40})},
          {"cropped", grid_of({8, 9, 7}, identity, {1, 1, 1}, {40, -35, 62})},
          {"permuted", grid_of({9, 10, 8}, permuted, {1, 1.2, 1.4}, {-17, 12, 19})}};
}

inline Geometry moving_grid() {
  return grid_of({14, 12, 13}, turned({3, -1, 2}, 12), {0.9, 1.1, 1.3}, {22, -19, 24});
}

inline Eigen::Affine3d some_affine() {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  affine.linear() = turned({2, 1, -1}, 9) * Eigen::Vector3d(1.05, 0.97, 1.02).asDiagonal();
  affine.translation() = Eigen::Vector3d(3.5, -2.25, 1.75);
  return affine;
}

inline HostField some_field(const Geometry& grid) {
  return {grid, random_values(3 * grid.extent.count(), -2, 2), {}};
}

inline HostTransform chain_of(std::vector<std::variant<Eigen::Affine3d, HostField>> steps) {
  return {std::move(steps), {}};
}

/// Points within the grid, and its corners.
inline std::vector<Eigen::Vector3d> points_within(const Geometry& grid) {
  const std::vector<float> numbers = random_values(600, 0, 1);
  const Eigen::Vector3d last(grid.extent.x - 1, grid.extent.y - 1, grid.extent.z - 1);
  std::vector<Eigen::Vector3d> points;
  for (std::size_t i = 0; i < numbers.size(); i += 3)
    points.push_back(
        grid.index_to_world() *
        last.cwiseProduct(Eigen::Vector3d(numbers[i], numbers[i + 1], numbers[i + 2])).eval());
  return points;
}

inline double largest_difference(const HostTransform& a, const HostTransform& b,
                                 const Geometry& grid) {
  double largest = 0;
  for (const Eigen::Vector3d& p : points_within(grid))
    largest = std::max(largest, (map_point(a, p) - map_point(b, p)).norm());
  return largest;
}

// --- Files made byte by byte ---------------------------------------------------------------------

inline constexpr Extent small{6, 5, 4};

/// Index to RAS: 2, 3, 4 mm voxels; `x` of either sign, so either handedness.
inline std::array<float, 12> ras_rows(float x) { return {x, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30}; }

inline Geometry grid_of_rows(float x, Extent extent = small) {
  Eigen::Matrix3d direction = Eigen::Vector3d(x > 0 ? -1 : 1, -1, 1).asDiagonal();
  return {extent, {std::abs(double(x)), 3, 4}, {-10, 20, 30}, direction};
}

struct Vectors {
  Extent extent = small;
  int dimensions = 5, intent = 1007;
  std::string name;
  std::array<float, 3> p{};
  float x = 2;  // of ras_rows
};

inline std::string vector_file(const Vectors& v) {
  const auto sizes = v.dimensions == 5 ? std::vector<int>{v.extent.x, v.extent.y, v.extent.z, 1, 3}
                                       : std::vector<int>{v.extent.x, v.extent.y, v.extent.z, 3};
  std::string bytes = nifti_header(sizes, 16, 32);
  for (std::size_t i = 0; i < 3; ++i) put_at<float>(bytes, 56 + 4 * i, v.p[i]);
  put_at<std::int16_t>(bytes, 68, std::int16_t(v.intent));
  std::memcpy(bytes.data() + 328, v.name.data(), v.name.size());
  put_sform(bytes, 1, ras_rows(v.x));
  return bytes;
}

/// Planes of f(x, y, z), of which three numbers come back.
template <class F>
std::vector<float> planes_of(const Extent& extent, F&& f) {
  const std::size_t count = extent.count();
  std::vector<float> planes(3 * count);
  std::size_t voxel = 0;
  for (int z = 0; z < extent.z; ++z)
    for (int y = 0; y < extent.y; ++y)
      for (int x = 0; x < extent.x; ++x, ++voxel) {
        const Eigen::Vector3d value = f(x, y, z);
        for (std::size_t c = 0; c < 3; ++c)
          planes[c * count + voxel] = float(value[Eigen::Index(c)]);
      }
  return planes;
}

inline void expect_maps(const HostTransform& transform, const Eigen::Vector3d& from,
                        const Eigen::Vector3d& to, double tolerance = 1e-4) {
  const Eigen::Vector3d found = map_point(transform, from);
  EXPECT_LT((found - to).norm(), tolerance) << found.transpose() << "; wanted " << to.transpose();
}

}  // namespace freeflow::test
