#include <freeflow/registration/linear/quasi_newton.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace freeflow {

namespace {

constexpr double sufficient_decrease = 1e-4;  // Armijo
constexpr int most_trials = 5;

void append(LevelRecord& level, Observer& observer, double cost, double step) {
  IterationRecord record;
  record.iteration = level.iterations.empty() ? 0 : level.iterations.back().iteration + 1;
  record.cost = record.similarity = cost;
  record.step_mm = step;
  level.iterations.push_back(record);
  observer.on_iteration(level);
}

/// The BFGS update of the inverse Hessian; left out where the curvature along the step is not
/// positive.
void update(Eigen::MatrixXd& h, const Eigen::VectorXd& step, const Eigen::VectorXd& change) {
  const double curvature = step.dot(change);
  if (!(curvature > 1e-12 * step.norm() * change.norm())) return;
  const Eigen::Index n = step.size();
  if (h.size() == 0) h = Eigen::MatrixXd::Identity(n, n) * (curvature / change.squaredNorm());
  const Eigen::MatrixXd left =
      Eigen::MatrixXd::Identity(n, n) - step * change.transpose() / curvature;
  h = (left * h * left.transpose() + step * step.transpose() / curvature).eval();
}

/// Slightly damped, so that a flat direction does no harm; empty when it is no curvature at all.
Eigen::MatrixXd inverse(const Eigen::MatrixXd& curvature) {
  const double mean = curvature.trace() / double(curvature.rows());
  if (!(mean > 0) || !std::isfinite(mean)) return {};
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(curvature.rows(), curvature.cols());
  return (curvature + 1e-6 * mean * identity).ldlt().solve(identity);
}

}  // namespace

double minimize_quasi_newton(const SmoothCost& cost, Eigen::VectorXd& p,
                             Eigen::MatrixXd& inverse_hessian, const QuasiNewtonOptions& options,
                             LevelRecord& level, Observer& observer) {
  Eigen::VectorXd gradient, trial_gradient;
  double value = cost(p, &gradient);
  append(level, observer, value, 0);
  level.stopped_because = "reached the number of iterations";
  if (!std::isfinite(value)) {
    level.stopped_because = "no overlap";
    return value;
  }
  bool retried = false;
  // iterations in a row that gained next to nothing: a bent valley has such stretches
  int idle = 0;
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    if (observer.stop_requested()) throw Cancelled{};
    if (options.curvature) inverse_hessian = inverse(options.curvature(p, value));
    const double largest = gradient.cwiseAbs().maxCoeff();
    if (!(largest > 0)) {
      level.stopped_because = "the gradient vanished";
      break;
    }
    Eigen::VectorXd direction = inverse_hessian.size()
                                    ? Eigen::VectorXd(-inverse_hessian * gradient)
                                    : -gradient * (options.first_step / largest);
    if (!(direction.dot(gradient) < 0)) {
      inverse_hessian.resize(0, 0);
      direction = -gradient * (options.first_step / largest);
    }
    const double length = direction.cwiseAbs().maxCoeff();
    if (length > options.longest_step) direction *= options.longest_step / length;
    const double reach = std::min(length, options.longest_step), slope = direction.dot(gradient);
    double t = 1, trial_value = NAN;
    int trials = 0;
    bool accepted = false;
    for (; trials < most_trials && t * reach > 0.5 * options.smallest_step; ++trials) {
      trial_value = cost(p + t * direction, &trial_gradient);
      const bool finite = std::isfinite(trial_value);
      accepted = finite && trial_value <= value + sufficient_decrease * t * slope;
      if (accepted) break;
      const double expected = finite ? -0.5 * t * slope / (trial_value - value - t * slope) : 0.1;
      t *= std::clamp(expected, 0.1, 0.5);
    }
    if (!accepted) {
      level.stopped_because =
          reach <= 0.5 * options.smallest_step ? "converged" : "no step lowers the cost further";
      if (!retried && !options.curvature && inverse_hessian.size() &&
          reach > 4 * options.smallest_step) {
        inverse_hessian.resize(0, 0);  // perhaps the curvature of the coarser level misled
        retried = true;
        continue;
      }
      break;
    }
    const double gained = value - trial_value;
    if (!options.curvature) update(inverse_hessian, t * direction, trial_gradient - gradient);
    p += t * direction;
    value = trial_value;
    gradient = trial_gradient;
    append(level, observer, value, t * reach);
    idle = gained < options.tolerance * std::abs(value) ? idle + 1 : 0;
    if (t * reach < options.smallest_step || idle == 3) {
      level.stopped_because = "converged";
      break;
    }
  }
  return value;
}

}  // namespace freeflow
