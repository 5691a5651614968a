#include <freeflow/registration/linear/block_refinement.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace freeflow {

namespace {

using Matrix34 = Eigen::Matrix<double, 3, 4>;
using Rows12 = Eigen::Matrix<double, 12, 1>;

/// Sums of x x^T and y x^T over matches, x with a fourth component of 1.
struct NormalSums {
  Eigen::Matrix4d xx = Eigen::Matrix4d::Zero();
  Matrix34 yx = Matrix34::Zero();

  void add(const Eigen::Vector3d& x, const Eigen::Vector3d& y, double weight) {
    const Eigen::Vector4d h = x.homogeneous();
    xx += weight * h * h.transpose();
    yx += weight * y * h.transpose();
  }
};

/// Gauss-Newton; exact in one step where the model is linear in its parameters, a few where it
/// turns.
Eigen::Affine3d least_squares(const NormalSums& sums, LinearModel model,
                              const Eigen::Vector3d& center, double radius,
                              const Eigen::Affine3d& start) {
  const LinearParameters parameters(model, center, radius, start);
  Eigen::VectorXd p = parameters.start();
  Eigen::Matrix<double, 12, 12> metric = Eigen::Matrix<double, 12, 12>::Zero();
  for (int row = 0; row < 3; ++row) metric.block<4, 4>(4 * row, 4 * row) = sums.xx;
  for (int step = 0; step < 6; ++step) {
    const Matrix34 slope = parameters.affine(p).matrix().topRows<3>() * sums.xx - sums.yx;
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
  std::vector<Eigen::Vector3d> target;
  for (const PointMatch& m : matches) target.push_back(world * m.found);
  std::vector<double> residual(matches.size()), ordered;
  Eigen::Affine3d fitted = world;
  double last = INFINITY;
  for (int round = 0; round < most_rounds; ++round) {
    for (std::size_t i = 0; i < matches.size(); ++i)
      residual[i] = (fitted * matches[i].fixed - target[i]).squaredNorm();
    ordered = residual;
    const auto last_kept = ordered.begin() + std::ptrdiff_t(kept - 1);
    std::nth_element(ordered.begin(), last_kept, ordered.end());
    const double worst = *last_kept;
    auto ties = 1 + std::count(ordered.begin(), last_kept,
                               worst);  // as many of the worst are kept, the first ones
    NormalSums sums;
    double total = 0;
    for (std::size_t i = 0; i < matches.size(); ++i) {
      if (residual[i] > worst || (residual[i] == worst && ties-- <= 0)) continue;
      sums.add(matches[i].fixed, target[i], matches[i].weight);
      total += matches[i].weight * residual[i];
    }
    if (!(total < last * (1 - tolerance))) break;
    last = total;
    fitted = least_squares(sums, model, center, radius_mm, fitted);
  }
  return fitted;
}

namespace {

std::vector<PointMatch> match_all(Context& ctx, std::vector<BlockChannel>& channels,
                                  const Eigen::Affine3d& world) {
  std::vector<PointMatch> all;
  for (BlockChannel& channel : channels)
    for (PointMatch& match : channel.blocks.match(ctx, world)) {
      match.weight = channel.weight;
      all.push_back(match);
    }
  return all;
}

}  // namespace

Eigen::Affine3d refine_by_blocks(Context& ctx, std::vector<BlockChannel>& channels,
                                 const Eigen::Affine3d& start,
                                 const BlockRefinementOptions& options, LevelRecord& record,
                                 Observer& observer) {
  // Between people most matches are wrong: of 0.2, 0.3, 0.4 and 0.5 all but the last did well. A
  // full step swings to and fro.
  constexpr double share = 0.3, step = 0.5, noticeable_loss = 0.05;
  Eigen::Affine3d world = start;
  double agreed_before = 0, agreed = 0;
  for (int round = 0; round < options.rounds; ++round) {
    if (observer.stop_requested()) throw Cancelled{};
    const std::vector<PointMatch> matches = match_all(ctx, channels, world);
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
