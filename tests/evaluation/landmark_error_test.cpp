// Landmark errors of a shift, by hand.
#include <freeflow/evaluation/landmark_error.h>

#include <gtest/gtest.h>

#include "support/phantoms.h"

namespace freeflow {
namespace {

TEST(LandmarkError, IsTheDistanceThatIsLeft) {
  Context cpu;
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation() = Eigen::Vector3d(3, 0, 4);
  const std::vector<Eigen::Vector3d> fixed = {{0, 0, 0}, {1, 2, 3}, {5, 5, 5}, {-4, 2, 1}};
  std::vector<Eigen::Vector3d> moving = fixed;
  for (std::size_t i = 0; i < moving.size(); ++i)
    moving[i] += shift.translation() + Eigen::Vector3d(0, double(i), 0);  // off by 0, 1, 2, 3
  const LandmarkError e = landmark_error(cpu, Transform(shift), fixed, moving);
  EXPECT_NEAR(e.before_mm[0], 5, 1e-12);
  EXPECT_NEAR(e.before_mm[3], std::sqrt(34.0), 1e-12);
  for (std::size_t i = 0; i < moving.size(); ++i) EXPECT_NEAR(e.after_mm[i], double(i), 1e-12);
  EXPECT_NEAR(e.after.mean, 1.5, 1e-12);
  EXPECT_NEAR(e.after.sd, std::sqrt(1.25), 1e-12) << "over all, not of a sample";
  EXPECT_NEAR(e.after.median, 1.5, 1e-12);
  EXPECT_NEAR(e.after.p95, 2.85, 1e-12) << "numpy.percentile([0, 1, 2, 3], 95)";
  EXPECT_NEAR(e.after.max, 3, 1e-12);
}

TEST(LandmarkError, TellsTheMedianFromTheMean) {
  Context cpu;
  const std::vector<double> off = {9, 0, 64, 1, 49, 4, 16, 36, 81, 25};  // squares, in no order
  const std::vector<Eigen::Vector3d> fixed(off.size(), {1, 2, 3});
  std::vector<Eigen::Vector3d> moving = fixed;
  for (std::size_t i = 0; i < off.size(); ++i) moving[i].z() -= off[i];
  const LandmarkError e = landmark_error(cpu, Transform(), fixed, moving);
  EXPECT_NEAR(e.after.mean, 28.5, 1e-12);
  EXPECT_NEAR(e.after.median, 20.5, 1e-12);
  EXPECT_NEAR(e.after.p95, 64 + 0.55 * (81 - 64), 1e-12);
  EXPECT_NEAR(e.after.max, 81, 1e-12);
}

TEST(LandmarkError, GoesThroughFields) {
  Context cpu;
  const Geometry g = test::plain_geometry({8, 8, 8}, 2);
  const Transform chain(DisplacementField(cpu, g,
                                          test::field_planes(g.extent,
                                                             [](int x, int, int) {
                                                               return Eigen::Vector3d(
                                                                   0.1 * x, 0,
                                                                   0);  // voxels of 2 mm
                                                             })),
                        Eigen::Affine3d::Identity());
  const std::vector<Eigen::Vector3d> fixed = {{5, 4, 4}}, moving = {{5.5, 4, 4}};
  EXPECT_NEAR(landmark_error(cpu, chain, fixed, moving).after.max, 0, 1e-6);
}

TEST(LandmarkError, WantsPairs) {
  Context cpu;
  const std::vector<Eigen::Vector3d> none, one(1, {0, 0, 0}), two(2, {0, 0, 0});
  EXPECT_THROW(landmark_error(cpu, Transform(), one, two), InvalidArgument);
  EXPECT_THROW(landmark_error(cpu, Transform(), none, none), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
