// Private: a similarity measure on one level as a function of the linear transform alone.
#pragma once

#include <optional>

#include <freeflow/registration/linear/affine_gradient.h>
#include <freeflow/registration/linear/linear_parameters.h>
#include <freeflow/registration/linear/overlap_guard.h>
#include <freeflow/registration/linear/quasi_newton.h>
#include <freeflow/registration/linear/ssd_curvature.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class LinearCost {
 public:
  /// The measure must have been prepared for the two images, or for channels of which they are the
  /// first; all must outlive this. Allocates; nothing later does but the first ssd_curvature_of.
  LinearCost(Context& ctx, SimilarityMeasure& measure, const Volume<float>& fixed,
             const Volume<float>& moving);

  /// Cost of a world transform, and its derivative with respect to the 3x4 matrix unless null.
  /// Waits once.
  double evaluate(const Eigen::Affine3d& world, Eigen::Matrix<double, 3, 4>* gradient = nullptr);
  /// The same as a function of parameters; infinite where the overlap is below the smallest and
  /// where the volume changes more than 27-fold from what `initial` makes of it.
  SmoothCost of(const LinearParameters& parameters, const OverlapGuard& guard,
                double smallest_overlap, const Eigen::Affine3d& initial);
  /// The Gauss-Newton curvature at p where the cost is; only for the sum of squared differences of
  /// one channel.
  std::function<Eigen::MatrixXd(const Eigen::VectorXd& p, double cost)> ssd_curvature_of(
      const LinearParameters& parameters);
  int evaluations() const { return evaluations_; }
  const SimilarityMeasure& measure() const { return measure_; }

 private:
  Context& ctx_;
  SimilarityMeasure& measure_;
  const Volume<float>&fixed_, &moving_;
  Buffer<float> force_;
  AffineGradient sums_;
  std::optional<SsdCurvature> ssd_curvature_;
  int evaluations_ = 0;
};

}  // namespace freeflow
