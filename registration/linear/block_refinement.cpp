#include <freeflow/registration/linear/block_refinement.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace freeflow {

namespace {

using Matrix34 = Eigen::Matrix<double, 3, 4>;
using Rows12 = Eigen::Matrix<double, 12, 1>;

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

  void squared_residuals(const Eigen::Affine3d& affine, std::vector<double>& residual) const {
    const Eigen::Matrix4d& m = affine.matrix();
    const auto moved = [&m](int row, double x, double y, double z) {
      return std::fma(m(row, 2), z, std::fma(m(row, 1), y, m(row, 0) * x)) + m(row, 3);
    };
    const double *x = points_.col(0).data(), *y = points_.col(1).data(), *z = points_.col(2).data();
    const double *to_x = targets_.col(0).data(), *to_y = targets_.col(1).data(),
                 *to_z = targets_.col(2).data();
    double* out = residual.data();
    const std::size_t count = residual.size();
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
      const double dx = moved(0, x[i], y[i], z[i]) - to_x[i],
                   dy = moved(1, x[i], y[i], z[i]) - to_y[i],
                   dz = moved(2, x[i], y[i], z[i]) - to_z[i];
      out[i] = dx * dx + (dy * dy + dz * dz);
    }
  }

  void add(std::size_t match, NormalSums& sums) const {
    const auto i = Eigen::Index(match);
    sums.add(points_(i, 0), points_(i, 1), points_(i, 2), targets_(i, 0), targets_(i, 1),
             targets_(i, 2), weights_[i]);
  }
  double weight(std::size_t match) const { return weights_[Eigen::Index(match)]; }

 private:
  Eigen::MatrixX3d points_, targets_;
  Eigen::VectorXd weights_;
};

/// The rank-th smallest of many values (rank 0 is the least) when the last one asked for lay near
/// it: only what lies around that is put in order.
class OrderStatistic {
 public:
  double find(const std::vector<double>& values, std::size_t rank) {
    const double low = 0.9 * last_, high = 1.1 * last_;
    around_.resize(values.size());  // once: all calls are of as many
    std::size_t below = 0, between = 0;
    for (const double v : values) {
      below += v < low;
      around_[between] = v;
      between += v >= low && v <= high;
    }
    if (rank < below || rank >= below + between) {
      around_ = values;
      below = 0;
      between = values.size();
    }
    const auto place = around_.begin() + std::ptrdiff_t(rank - below);
    std::nth_element(around_.begin(), place, around_.begin() + std::ptrdiff_t(between));
    return last_ = *place;
  }

 private:
  double last_ = -1;  // of values that are not negative: nothing lies around it
  std::vector<double> around_;
};

/// Gauss-Newton; exact in one step where the model is linear in its parameters, a few where it
/// turns.
Eigen::Affine3d least_squares(const NormalSums& sums, LinearModel model,
                              const Eigen::Vector3d& center, double radius,
                              const Eigen::Affine3d& start) {
  const LinearParameters parameters(model, center, radius, start);
  const Eigen::Matrix4d xx = sums.xx();
  const Matrix34 yx = sums.yx();
  Eigen::VectorXd p = parameters.start();
  Eigen::Matrix<double, 12, 12> metric = Eigen::Matrix<double, 12, 12>::Zero();
  for (int row = 0; row < 3; ++row) metric.block<4, 4>(4 * row, 4 * row) = xx;
  for (int step = 0; step < 6; ++step) {
    const Matrix34 slope = parameters.affine(p).matrix().topRows<3>() * xx - yx;
    const Eigen::Matrix<double, 3, 4, Eigen::RowMajor> rows = slope;
    const LinearJacobian j = parameters.jacobian(p);
    const Eigen::MatrixXd h = j.transpose() * metric * j;
    const Eigen::VectorXd change =
        h.ldlt().solve(j.transpose() * Eigen::Map<const Rows12>(rows.data()));
    if (!change.allFinite()) return start;
    p -= change;
    if (change.cwiseAbs().maxCoeff() < 1e-6) break;
  }
  return parameters.affine(p);
}

/// The share of the blocks that lie within agreement_mm of where the transform takes them; 1 where
/// there are none.
double agreement(const std::vector<PointMatch>& matches, double agreement_mm) {
  double near = 0, all = 0;
  for (const PointMatch& m : matches) {
    all += m.weight;
    if ((m.found - m.fixed).norm() <= agreement_mm) near += m.weight;
  }
  return all > 0 ? near / all : 1;
}

}  // namespace

Eigen::Affine3d fit_trimmed(const std::vector<PointMatch>& matches, LinearModel model,
                            const Eigen::Vector3d& center, double radius_mm,
                            const Eigen::Affine3d& world, double share) {
  constexpr std::size_t fewest = 30;
  constexpr int most_rounds = 50;
  constexpr double tolerance = 1e-6;
  const std::size_t kept = std::size_t(share * double(matches.size()));
  if (kept < fewest) return world;
  const MatchedPoints points(matches, world);
  std::vector<double> residual(matches.size());
  std::vector<std::size_t> near(matches.size());
  OrderStatistic order;
  Eigen::Affine3d fitted = world;
  double last = INFINITY;
  for (int round = 0; round < most_rounds; ++round) {
    points.squared_residuals(fitted, residual);
    const double worst = order.find(residual, kept - 1);
    std::size_t candidates = 0, better = 0;
    for (std::size_t i = 0; i < residual.size(); ++i) {
      near[candidates] = i;
      candidates += residual[i] <= worst;
      better += residual[i] < worst;
    }
    std::size_t ties = kept - better;  // as many of the worst are kept, the first ones
    NormalSums sums;
    double total = 0;
    for (std::size_t c = 0; c < candidates; ++c) {
      const std::size_t i = near[c];
      if (residual[i] == worst && ties-- == 0) break;
      points.add(i, sums);
      total += points.weight(i) * residual[i];
    }
    if (!(total < last * (1 - tolerance))) break;
    last = total;
    fitted = least_squares(sums, model, center, radius_mm, fitted);
  }
  return fitted;
}

Eigen::Affine3d refine_by_blocks(Context& ctx, std::vector<BlockChannel>& channels,
                                 const Eigen::Affine3d& start,
                                 const BlockRefinementOptions& options, LevelRecord& record,
                                 Observer& observer) {
  // Between people most matches are wrong: of 0.2, 0.3, 0.4 and 0.5 all but the last did well. A
  // full step swings to and fro.
  constexpr double share = 0.3, step = 0.5, noticeable_loss = 0.05;
  Eigen::Affine3d world = start;
  double agreed_before = 0, agreed = 0;
  std::vector<PointMatch> matches;  // kept between rounds, as fresh memory takes longer than they
  for (int round = 0; round < options.rounds; ++round) {
    if (observer.stop_requested()) throw Cancelled{};
    matches.clear();
    for (BlockChannel& channel : channels)
      channel.blocks.match(ctx, world, channel.weight, matches);
    agreed = agreement(matches, options.agreement_mm);
    if (round == 0) agreed_before = agreed;
    if (agreed_before >= 0.5) return start;
    const Eigen::Affine3d fitted =
        fit_trimmed(matches, options.model, options.center, options.radius_mm, world, share);
    Eigen::Affine3d between = world;
    between.matrix() = step * fitted.matrix() + (1 - step) * world.matrix();
    const LinearParameters to(options.model, options.center, options.radius_mm,
                              between);  // back into the model
    const Eigen::Affine3d next = to.affine(to.start());
    const double moved = std::max((next * options.center - world * options.center).norm(),
                                  options.radius_mm * (next.linear() - world.linear()).norm());
    world = next;
    ++record.evaluations;
    if (moved < options.smallest_mm) break;
  }
  if (agreed < (1 - noticeable_loss) * agreed_before) return start;
  return world;
}

}  // namespace freeflow
