#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include <freeflow/registration/levels/masked_background.h>

namespace freeflow {
namespace {

constexpr Extent grid{48, 40, 44};
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// 1 to 2 where `inside(p)`, p from the middle of the grid; NaN elsewhere.
template <class Inside>
std::vector<float> image_where(const Inside& inside) {
  std::vector<float> v(grid.count(), nan);
  for (int z = 0; z < grid.z; ++z)
    for (int y = 0; y < grid.y; ++y)
      for (int x = 0; x < grid.x; ++x)
        if (inside(Eigen::Vector3d(x - 24, y - 20, z - 22)))
          v[grid.offset(x, y, z)] = 1 + float(x) / 48;
  return v;
}

/// Two halves that touch, as those of a brain.
bool organ(const Eigen::Vector3d& p) {
  const Eigen::Vector3d middle(std::abs(p.x()) - 7, p.y(), p.z());
  return middle.cwiseQuotient(Eigen::Vector3d(9, 14, 12)).norm() < 1;
}

TEST(MaskedBackground, IsTheNaNAroundAnOrganButNoHoleInIt) {
  const Eigen::Vector3d lesion(8, 2, 1);
  std::vector<float> image =
      image_where([&](const auto& p) { return organ(p) && (p - lesion).norm() > 3; });
  image[0] = std::numeric_limits<float>::infinity();
  const std::vector<std::uint8_t> found = masked_background(grid, image.data());
  ASSERT_EQ(found.size(), grid.count());
  const std::vector<float> whole = image_where(organ);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i] != 0, std::isnan(whole[i])) << "voxel " << i;
}

TEST(MaskedBackground, ReachesInFromEachFaceOfTheGrid) {
  const int sides[3] = {grid.x, grid.y, grid.z};
  for (int axis = 0; axis < 3; ++axis)
    for (const bool far : {false, true}) {  // a pit that opens at one face alone
      std::vector<float> image(grid.count(), 1);
      for (int z = 0; z < grid.z; ++z)
        for (int y = 0; y < grid.y; ++y)
          for (int x = 0; x < grid.x; ++x) {
            const int at[3] = {x, y, z};
            const int along = far ? sides[axis] - 1 - at[axis] : at[axis];
            const Eigen::Vector3d p(x - 24, y - 20, z - 22);
            const double away = std::sqrt(p.squaredNorm() - p[axis] * p[axis]);
            if (along < 25 && away < 8) image[grid.offset(x, y, z)] = nan;
          }
      const std::vector<std::uint8_t> found = masked_background(grid, image.data());
      ASSERT_EQ(found.size(), grid.count()) << axis << ' ' << far;
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i] != 0, std::isnan(image[i])) << axis << ' ' << far << ", voxel " << i;
    }
}

TEST(MaskedBackground, IsFoundInTwoSlices) {
  const Extent thin{grid.x, grid.y, 2};
  std::vector<float> image(thin.count(), nan);
  for (int z = 0; z < thin.z; ++z)
    for (int y = 0; y < thin.y; ++y)
      for (int x = 0; x < thin.x; ++x)
        if (organ({x - 24.0, y - 20.0, double(z)})) image[thin.offset(x, y, z)] = 1;
  const std::vector<std::uint8_t> found = masked_background(thin, image.data());
  ASSERT_EQ(found.size(), thin.count());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i] != 0, std::isnan(image[i]));
}

TEST(MaskedBackground, IsNothingBeyondAFieldOfView) {
  const Eigen::Matrix3d turned =
      (Eigen::AngleAxisd(0.5, Eigen::Vector3d(1, 2, 3).normalized())).toRotationMatrix();
  const auto none = [](const std::vector<float>& v) {
    return masked_background(grid, v.data()).empty();
  };
  EXPECT_TRUE(none(image_where([&](const Eigen::Vector3d& p) {
    return ((turned * p).cwiseAbs() - Eigen::Vector3d(15, 11, 13)).maxCoeff() < 0;
  }))) << "an oblique box";
  EXPECT_TRUE(none(image_where([](const auto& p) { return p.x() < 3; }))) << "half a grid";
  EXPECT_TRUE(none(image_where([](const auto& p) { return p.template head<2>().norm() < 17; })))
      << "a scanner's circle";
  EXPECT_TRUE(none(image_where([](const auto& p) {
    return std::abs(p.x()) < 15 + std::sin(p.y() / 6) && std::abs(p.y()) < 14;
  }))) << "a box that a deformation bent";
}

TEST(MaskedBackground, IsNothingWhereAllOrNoVoxelsHaveAValue) {
  const auto none = [](const std::vector<float>& v) {
    return masked_background(grid, v.data()).empty();
  };
  EXPECT_TRUE(none(image_where([](const auto&) { return true; })));
  EXPECT_TRUE(none(image_where([](const auto&) { return false; })));
  EXPECT_TRUE(none(image_where([](const auto& p) { return !organ(p); }))) << "a hole";
  const std::vector<float> line(5, nan);
  EXPECT_TRUE(masked_background({5, 1, 1}, line.data()).empty());
}

}  // namespace
}  // namespace freeflow
