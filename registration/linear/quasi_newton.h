// Private: BFGS for a handful of parameters on the host, the dense matrix that L-BFGS approximates.
// One evaluation per trial step gives the cost and its gradient together.
#pragma once

#include <functional>

#include <Eigen/Core>

#include <freeflow/registration/observer.h>

namespace freeflow {

/// Cost at p; its gradient too unless null. NaN or infinity: p cannot be had.
using SmoothCost = std::function<double(const Eigen::VectorXd& p, Eigen::VectorXd* gradient)>;

struct QuasiNewtonOptions {
  int max_iterations = 30;
  double first_step = 1;     ///< largest change of a parameter in the first step, when nothing is
                             ///< known of the curvature
  double longest_step = 10;  ///< of any parameter in any step
  double smallest_step = 0.01;  ///< ends below
  /// ends when three iterations in a row lower the cost by less than this part of it
  double tolerance = 1e-6;
  /// Gauss-Newton instead: the curvature at a point whose cost is known; empty for BFGS.
  std::function<Eigen::MatrixXd(const Eigen::VectorXd& p, double cost)> curvature;
};

/// Lowers the cost from p, in place. inverse_hessian: empty, or what an earlier call (of a coarser
/// level) left; updated. Appends to level.iterations. Returns the cost. Throws Cancelled when the
/// observer asks.
double minimize_quasi_newton(const SmoothCost& cost, Eigen::VectorXd& p,
                             Eigen::MatrixXd& inverse_hessian, const QuasiNewtonOptions& options,
                             LevelRecord& level, Observer& observer);

}  // namespace freeflow
