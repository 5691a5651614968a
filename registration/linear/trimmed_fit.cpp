#include <freeflow/registration/linear/trimmed_fit.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace freeflow {

namespace {

using Matrix34 = Eigen::Matrix<double, 3, 4>;
using Rows12 = Eigen::Matrix<double, 12, 1>;

/// Matches are summed by groups and these in their order, so that no bit depends on the threads.
/// Fewer for a thread cost more in waiting than they gain.
constexpr std::size_t group_size = 512, groups_per_thread = 4;

/// Sums of x x^T and y x^T over matches, x with a fourth component of 1. A column at a time in a
/// vector of the processor's, which keeps them all in registers.
class NormalSums {
 public:
  void add(double x, double y, double z, double to_x, double to_y, double to_z, double weight) {
    const Column point = {x, y, z, 1}, weighted = weight * point,
                 target = weight * Column{to_x, to_y, to_z, 0};
    for (int j = 0; j < 4; ++j) {
      xx_[j] += weighted * point[j];
      yx_[j] += target * point[j];
    }
  }
  void add(const NormalSums& other) {
    for (int j = 0; j < 4; ++j) {
      xx_[j] += other.xx_[j];
      yx_[j] += other.yx_[j];
    }
  }
  Eigen::Matrix4d xx() const { return matrix(xx_); }
  Matrix34 yx() const { return matrix(yx_).topRows<3>(); }

 private:
  using Column = double __attribute__((vector_size(4 * sizeof(double))));

  static Eigen::Matrix4d matrix(const Column* columns) {
    Eigen::Matrix4d m;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) m(i, j) = columns[j][i];
    return m;
  }

  Column xx_[4] = {}, yx_[4] = {};
};

struct Group {
  std::size_t first, last;
};

/// The centres of blocks and where they go, coordinate by coordinate, so that a loop over them
/// takes several at once.
class MatchedPoints {
 public:
  MatchedPoints(const std::vector<PointMatch>& matches, const Eigen::Affine3d& world)
      : points_(matches.size(), 3), targets_(matches.size(), 3), weights_(matches.size()) {
    for (Eigen::Index i = 0; i < weights_.size(); ++i) {
      const PointMatch& match = matches[std::size_t(i)];
      points_.row(i) = match.fixed;
      targets_.row(i) = world * match.found;
      weights_[i] = match.weight;
    }
  }

  void squared_residuals(const Eigen::Affine3d& affine, Group group, double* residual) const {
    const Eigen::Matrix4d& m = affine.matrix();
    const auto moved = [&m](int row, double x, double y, double z) {
      return std::fma(m(row, 2), z, std::fma(m(row, 1), y, m(row, 0) * x)) + m(row, 3);
    };
    const double *x = points_.col(0).data(), *y = points_.col(1).data(), *z = points_.col(2).data();
    const double *to_x = targets_.col(0).data(), *to_y = targets_.col(1).data(),
                 *to_z = targets_.col(2).data();
#pragma omp simd
    for (std::size_t i = group.first; i < group.last; ++i) {
      const double dx = moved(0, x[i], y[i], z[i]) - to_x[i],
                   dy = moved(1, x[i], y[i], z[i]) - to_y[i],
                   dz = moved(2, x[i], y[i], z[i]) - to_z[i];
      residual[i] = dx * dx + (dy * dy + dz * dz);
    }
  }

  void add(std::size_t match, double weight, NormalSums& sums) const {
    const auto i = Eigen::Index(match);
    sums.add(points_(i, 0), points_(i, 1), points_(i, 2), targets_(i, 0), targets_(i, 1),
             targets_(i, 2), weight);
  }
  double weight(std::size_t match) const { return weights_[Eigen::Index(match)]; }

 private:
  Eigen::MatrixX3d points_, targets_;
  Eigen::VectorXd weights_;
};

/// The rank-th smallest of many values (rank 0 is the least), found among those about the last one
/// asked for, which every group picks out by itself.
class OrderStatistic {
 public:
  OrderStatistic(std::size_t count, std::size_t groups)
      : around_(count), below_(groups), between_(groups) {}

  void pick(const std::vector<double>& values, Group group) {
    std::size_t below = 0, between = 0;
    double* around = around_.data() + group.first;
    for (std::size_t i = group.first; i < group.last; ++i) {
      const double v = values[i];
      below += v < low_;
      around[between] = v;
      between += v >= low_ && v <= high_;
    }
    below_[group.first / group_size] = below;
    between_[group.first / group_size] = between;
  }
  /// After all groups have picked.
  double find(const std::vector<double>& values, std::size_t rank) {
    std::size_t below = 0, between = 0;
    for (std::size_t g = 0; g < below_.size(); ++g) {
      below += below_[g];
      const auto from = around_.begin() + std::ptrdiff_t(g * group_size);
      std::copy_n(from, between_[g], around_.begin() + std::ptrdiff_t(between));
      between += between_[g];
    }
    if (rank < below || rank >= below + between) {
      around_ = values;
      below = 0;
      between = values.size();
    }
    const auto begin = around_.begin(), end = begin + std::ptrdiff_t(between),
               place = begin + std::ptrdiff_t(rank - below);
    std::nth_element(begin, place, end);
    const double found = *place;
    // Later rounds move less and less.
    const double margin = std::clamp(3 * std::abs(found - last_), 0.02 * found, 0.1 * found);
    low_ = found - margin, high_ = found + margin;
    less_ = below + std::size_t(std::count_if(begin, place, [&](double v) { return v < found; }));
    equal_ = std::size_t(std::count(begin, end, found));
    return last_ = found;
  }
  /// How many values are less than what was found, or equal to it.
  std::size_t less() const { return less_; }
  std::size_t equal() const { return equal_; }

 private:
  std::vector<double> around_;
  std::vector<std::size_t> below_, between_;  // of a group
  double last_ = 0, low_ = -1, high_ = -1;
  std::size_t less_ = 0, equal_ = 0;
};

/// Of the solutions of h x = y for a symmetric h the least: what the matches do not tell, as of the
/// way across where all lie in a plane, does not change.
template <class Square, class Columns>
auto least_solution(const Square& h, const Columns& y) {
  constexpr double rounding = 1e-10;
  Eigen::CompleteOrthogonalDecomposition<Square> decomposed;
  decomposed.setThreshold(rounding);
  decomposed.compute(h);
  return Columns(decomposed.solve(y));
}

Eigen::Affine3d best_affine(const NormalSums& sums, const Eigen::Vector3d& center, double radius,
                            const Eigen::Affine3d& start) {
  Eigen::Matrix4d to_unit = Eigen::Matrix4d::Identity();  // in which slopes and shifts compare
  to_unit.topRows<3>() << Eigen::Matrix3d::Identity() / radius, -center / radius;
  const Eigen::Matrix4d unit_xx = to_unit * sums.xx() * to_unit.transpose();
  const Matrix34 unexplained = sums.yx() - start.matrix().topRows<3>() * sums.xx();
  const Eigen::Matrix<double, 4, 3> unit_slope = to_unit * unexplained.transpose();
  Eigen::Affine3d found = start;
  found.matrix().topRows<3>() += least_solution(unit_xx, unit_slope).transpose() * to_unit;
  const bool turns = found.matrix().allFinite() && found.linear().determinant() > 1e-6;
  return turns ? found : start;
}

/// Gauss-Newton, a few steps.
Eigen::Affine3d least_squares(const NormalSums& sums, LinearModel model,
                              const Eigen::Vector3d& center, double radius,
                              const Eigen::Affine3d& start) {
  if (model == LinearModel::affine) return best_affine(sums, center, radius, start);
  const LinearParameters parameters(model, center, radius, start);
  const Eigen::Matrix4d xx = sums.xx();
  const Matrix34 yx = sums.yx();
  Eigen::VectorXd p = parameters.start();
  Eigen::Matrix<double, 12, 12> metric = Eigen::Matrix<double, 12, 12>::Zero();
  for (int row = 0; row < 3; ++row) metric.block<4, 4>(4 * row, 4 * row) = xx;
  constexpr double little = 1e-8;  // of the radius
  for (int step = 0; step < 6; ++step) {
    const Matrix34 slope = parameters.affine(p).matrix().topRows<3>() * xx - yx;
    const Eigen::Matrix<double, 3, 4, Eigen::RowMajor> rows = slope;
    const LinearJacobian j = parameters.jacobian(p);
    const Eigen::MatrixXd h = j.transpose() * metric * j;
    const Eigen::VectorXd slope_of_p = j.transpose() * Eigen::Map<const Rows12>(rows.data());
    const Eigen::VectorXd change = least_solution(h, slope_of_p);
    if (!change.allFinite()) return start;
    p -= change;
    if (change.cwiseAbs().maxCoeff() < little * radius) break;
  }
  return parameters.affine(p);
}

struct GroupSums {
  NormalSums normal;
  double residual = 0;

  void add(const GroupSums& other) {
    normal.add(other.normal);
    residual += other.residual;
  }
};

GroupSums sums_of(const MatchedPoints& points, const std::vector<double>& residual, Group group,
                  double worst, double share_of_worst) {
  std::size_t near[group_size], count = 0;
  for (std::size_t i = group.first; i < group.last; ++i) {
    near[count] = i;
    count += residual[i] <= worst;
  }
  GroupSums sums;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t i = near[n];
    const double weight = points.weight(i) * (residual[i] < worst ? 1 : share_of_worst);
    points.add(i, weight, sums.normal);
    sums.residual += weight * residual[i];
  }
  return sums;
}

}  // namespace

Eigen::Affine3d fit_trimmed(const std::vector<PointMatch>& matches, LinearModel model,
                            const Eigen::Vector3d& center, double radius_mm,
                            const Eigen::Affine3d& world, double share, int threads) {
  constexpr std::size_t fewest = 30;
  constexpr int most_rounds = 50;
  constexpr double tolerance = 1e-6;
  const std::size_t count = matches.size(), kept = std::size_t(share * double(count));
  if (kept < fewest) return world;
  const MatchedPoints points(matches, world);
  const std::size_t groups = (count + group_size - 1) / group_size;
  const auto group_of = [count](std::size_t g) {
    return Group{g * group_size, std::min(count, (g + 1) * group_size)};
  };
  threads = std::clamp(int(groups / groups_per_thread), 1, threads);
  std::vector<double> residual(count);
  std::vector<GroupSums> group_sums(groups);
  OrderStatistic order(count, groups);
  Eigen::Affine3d fitted = world;
  double last = INFINITY;
  for (int round = 0; round < most_rounds; ++round) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::size_t g = 0; g < groups; ++g) {
      points.squared_residuals(fitted, group_of(g), residual.data());
      order.pick(residual, group_of(g));
    }
    const double worst = order.find(residual, kept - 1);
    const double share_of_worst = double(kept - order.less()) / double(order.equal());
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::size_t g = 0; g < groups; ++g)
      group_sums[g] = sums_of(points, residual, group_of(g), worst, share_of_worst);
    GroupSums sums;
    for (const GroupSums& of_group : group_sums) sums.add(of_group);
    if (!(sums.residual < last * (1 - tolerance))) break;
    last = sums.residual;
    fitted = least_squares(sums.normal, model, center, radius_mm, fitted);
  }
  return fitted;
}

}  // namespace freeflow
