// Private: Powell's direction-set search with a resolution per parameter (Shams 2010, section 3.7):
// evaluated points are remembered, and nothing nearer than the resolution to one of them is
// evaluated again. Needs no gradient.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <freeflow/registration/observer.h>

namespace freeflow {

using PlainCost = std::function<double(const Eigen::VectorXd& p)>;

/// A cost with a memory. Points are near when they differ by less than the resolution in every
/// parameter.
class RememberedCost {
 public:
  RememberedCost(PlainCost cost, const Eigen::VectorXd& resolution)
      : cost_(std::move(cost)), resolution_(resolution) {}
  double operator()(const Eigen::VectorXd& p);
  int evaluations() const { return int(points_.size()); }
  int recalls() const { return recalls_; }

 private:
  PlainCost cost_;
  Eigen::VectorXd resolution_;
  std::vector<Eigen::VectorXd> points_;
  std::vector<double> values_;
  int recalls_ = 0;
};

struct PowellOptions {
  Eigen::VectorXd resolution;   ///< per parameter; zeros: every point is evaluated
  double first_step = 1;        ///< of the line searches, in every parameter
  double smallest_step = 0.01;  ///< ends when a round over all directions moves less
  int max_rounds = 20;
};

/// Lowers the cost from p, in place. Appends a record per round. Returns the cost. Throws Cancelled
/// when the observer asks.
double minimize_powell(const PlainCost& cost, Eigen::VectorXd& p, const PowellOptions& options,
                       LevelRecord& level, Observer& observer);

/// Hill climbing (Ledig 2010, section 3.2): the best of all steps up and down each parameter; where
/// none is better, half the step.
double minimize_hill(const PlainCost& cost, Eigen::VectorXd& p, const PowellOptions& options,
                     LevelRecord& level, Observer& observer);

}  // namespace freeflow
