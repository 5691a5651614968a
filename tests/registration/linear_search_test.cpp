// The searches of linear registration on costs that need no image.
#include <algorithm>
#include <cmath>

#include <freeflow/registration/linear/powell.h>
#include <freeflow/registration/linear/quasi_newton.h>
#include <freeflow/registration/linear/rotation_search.h>

#include "support/devices.h"

namespace freeflow {
namespace {

TEST(RotationSearch, SpreadRotationsCoverEverything) {
  const std::vector<Eigen::Matrix3d> grid = spread_rotations(600);
  std::srand(1);
  for (int i = 0; i < 50; ++i) {
    const Eigen::Matrix3d r = Eigen::Quaterniond::UnitRandom().toRotationMatrix();
    double nearest = 360;
    for (const Eigen::Matrix3d& g : grid)
      nearest = std::min(
          nearest,
          double(Eigen::AngleAxisd(Eigen::Matrix3d(r * g.transpose())).angle() * 180 / EIGEN_PI));
    EXPECT_LT(nearest, 30);
  }
}

TEST(RotationSearch, OneThatIsNotTurnedGoesOn) {
  const ContentExtent content{Eigen::Vector3d(10, -20, 30), 80};
  const auto turned = [](double degrees, double cost) {
    const Eigen::AngleAxisd turn(degrees * EIGEN_PI / 180, Eigen::Vector3d::UnitX());
    return LinearCandidate{Eigen::Affine3d(turn), cost};
  };
  const Eigen::Affine3d start(Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitZ()));
  std::vector<LinearCandidate> all{turned(40, -0.1), turned(180, -0.5), turned(130, -0.4),
                                   turned(0, -0.2),  turned(90, -0.3),  turned(185, -0.45)};
  const auto costs = [&] {
    std::vector<double> found;
    for (const LinearCandidate& c : best_and_unturned(all, start, content, 3))
      found.push_back(c.cost);
    return found;
  };
  EXPECT_EQ(costs(), (std::vector{-0.5, -0.4, -0.3, -0.2}));
  all[3].cost = -0.6;
  EXPECT_EQ(costs(), (std::vector{-0.6, -0.5, -0.4}));
  all.erase(all.begin() + 3);
  all.erase(all.begin());
  EXPECT_EQ(costs(), (std::vector{-0.5, -0.4, -0.3}));
  all.pop_back();
  all.pop_back();
  EXPECT_EQ(costs(), (std::vector{-0.5, -0.4}));
}

/// A curved valley that is awkward along the axes.
double valley(const Eigen::VectorXd& p) {
  const double a = p[0] + p[1] - 3, b = p[0] - p[1] + 0.1 * p[2] * p[2], c = p[2] - 1;
  return a * a + 5 * b * b + 0.5 * c * c;
}

TEST(Powell, FindsTheMinimumAndRemembers) {
  Observer silent;
  std::vector<Eigen::VectorXd> asked;
  const PlainCost cost = [&](const Eigen::VectorXd& p) {
    asked.push_back(p);
    return valley(p);
  };
  PowellOptions o;
  int evaluations[2];
  for (const double resolution : {0.0, 0.05}) {
    asked.clear();
    o.resolution = Eigen::VectorXd::Constant(3, resolution);
    LevelRecord record;
    Eigen::VectorXd p = Eigen::Vector3d(-4, 5, 6);
    EXPECT_LT(minimize_powell(cost, p, o, record, silent), resolution == 0 ? 1e-3 : 0.1);
    EXPECT_NEAR(p[2], 1, 0.2);
    evaluations[resolution > 0] = int(asked.size());
    if (resolution == 0) continue;
    for (std::size_t i = 0; i < asked.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(((asked[i] - asked[j]).array().abs() < resolution).all());
  }
  EXPECT_LT(evaluations[1], evaluations[0]);
}

TEST(Powell, ACostWithMemoryAsksOnce) {
  RememberedCost cost([](const Eigen::VectorXd& p) { return p[0]; }, Eigen::Vector2d(0.1, 1));
  EXPECT_EQ(cost(Eigen::Vector2d(1, 1)), 1);
  EXPECT_EQ(cost(Eigen::Vector2d(1.05, 1.9)), 1);
  EXPECT_EQ(cost.evaluations(), 1);
  EXPECT_EQ(cost.recalls(), 1);
  EXPECT_EQ(cost(Eigen::Vector2d(1.15, 1)), 1.15);
  EXPECT_EQ(cost.evaluations(), 2);
}

TEST(HillClimbing, FindsTheMinimum) {
  Observer silent;
  LevelRecord record;
  PowellOptions o;
  Eigen::VectorXd p = Eigen::Vector3d(-4, 5, 6);
  EXPECT_LT(minimize_hill(valley, p, o, record, silent), 0.01);
}

TEST(QuasiNewton, FindsTheMinimumAndLeavesTheCurvature) {
  Observer silent;
  LevelRecord record;
  const SmoothCost smooth = [](const Eigen::VectorXd& p, Eigen::VectorXd* gradient) {
    if (gradient) {
      gradient->resize(3);
      for (int i = 0; i < 3; ++i) {
        Eigen::VectorXd a = p, b = p;
        a[i] += 1e-5, b[i] -= 1e-5;
        (*gradient)[i] = (valley(a) - valley(b)) / 2e-5;
      }
    }
    return valley(p);
  };
  Eigen::VectorXd p = Eigen::Vector3d(-4, 5, 6);
  Eigen::MatrixXd curvature;
  EXPECT_LT(minimize_quasi_newton(smooth, p, curvature, {}, record, silent), 1e-4);
  EXPECT_EQ(curvature.rows(), 3);
  for (std::size_t i = 1; i < record.iterations.size(); ++i)
    EXPECT_LT(record.iterations[i].cost, record.iterations[i - 1].cost);
}

/// x^2 + 1e6 y^2, and the largest change of a parameter that was asked for.
struct Trench {
  Eigen::Vector2d from{3, 0};
  double farthest = 0;

  SmoothCost cost() {
    return [this](const Eigen::VectorXd& p, Eigen::VectorXd* gradient) {
      farthest = std::max(farthest, (p - from).cwiseAbs().maxCoeff());
      if (gradient) *gradient = Eigen::Vector2d(2 * p[0], 2e6 * p[1]);
      return p[0] * p[0] + 1e6 * p[1] * p[1];
    };
  }
};

TEST(QuasiNewton, StartsAnewWhereTheCurvatureOfACoarserLevelMisleads) {
  Observer silent;
  LevelRecord record;
  Trench trench;
  Eigen::VectorXd p = trench.from;
  Eigen::MatrixXd curvature = Eigen::Matrix2d{{1e-6, 1}, {1, 2e6}};  // which leads up a wall
  EXPECT_LT(minimize_quasi_newton(trench.cost(), p, curvature, {}, record, silent), 1e-3);
}

TEST(QuasiNewton, NoStepIsLongerThanAsked) {
  Observer silent;
  LevelRecord record;
  Trench trench;
  Eigen::VectorXd p = trench.from;
  Eigen::MatrixXd curvature;
  QuasiNewtonOptions o;
  o.longest_step = 0.25;
  o.max_iterations = 1;
  minimize_quasi_newton(trench.cost(), p, curvature, o, record, silent);
  EXPECT_NEAR(trench.farthest, 0.25, 1e-12);
  ASSERT_EQ(record.iterations.size(), 2u);
  EXPECT_NEAR(record.iterations.back().step_mm, 0.25, 1e-12);
}

TEST(QuasiNewton, EndsAfterThreeIterationsInARowThatGainNextToNothing) {
  Observer silent;
  LevelRecord record;
  Eigen::VectorXd p = Eigen::Vector3d(-4, 5, 6);
  const SmoothCost smooth = [](const Eigen::VectorXd& q, Eigen::VectorXd* gradient) {
    if (gradient) *gradient = 2e-3 * q;
    return 1e-3 * q.squaredNorm();
  };
  Eigen::MatrixXd curvature;
  QuasiNewtonOptions o;
  o.tolerance = 1e6;  // so that no iteration gains enough
  o.longest_step = 0.01;
  o.smallest_step = 1e-6;
  minimize_quasi_newton(smooth, p, curvature, o, record, silent);
  EXPECT_EQ(record.iterations.size(), 1u + 3);
  EXPECT_EQ(record.stopped_because, "converged");
}

TEST(QuasiNewton, StaysWhereThereIsNoCost) {
  Observer silent;
  LevelRecord record;
  Eigen::VectorXd p = Eigen::Vector3d(-4, 5, 6);
  Eigen::MatrixXd curvature;
  int asked = 0;
  const SmoothCost none = [&](const Eigen::VectorXd&, Eigen::VectorXd*) {
    ++asked;
    return double(INFINITY);
  };
  EXPECT_EQ(minimize_quasi_newton(none, p, curvature, {}, record, silent), INFINITY);
  EXPECT_EQ(p, Eigen::Vector3d(-4, 5, 6));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(record.stopped_because, "no overlap");
}

}  // namespace
}  // namespace freeflow
