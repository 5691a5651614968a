// Private: the Gauss-Newton curvature of the sum of squared differences with respect to a linear
// map.
#pragma once

#include <Eigen/Core>

#include <freeflow/core/reduce.h>
#include <freeflow/core/volume.h>
#include <freeflow/registration/linear/linear_parameters.h>

namespace freeflow {

/// Scratch for one grid, and what it computes: never allocates after construction.
class SsdCurvature {
 public:
  SsdCurvature() = default;
  SsdCurvature(Context& ctx, Extent extent);

  /// 2 J^T J in the parameters over the overlap, J the derivative of moving(world(x)), on the scale
  /// on which the squared differences sum to `cost`. Waits once.
  Eigen::MatrixXd evaluate(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                           const Eigen::Affine3d& world, const LinearJacobian& by_parameters,
                           double cost);

 private:
  Extent extent_;
  Buffer<float> planes_;  // warped image and its gradient
  Buffer<double> rows_, sums_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
