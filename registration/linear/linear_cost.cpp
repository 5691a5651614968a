#include <freeflow/registration/linear/linear_cost.h>

#include <cmath>

namespace freeflow {

LinearCost::LinearCost(Context& ctx, SimilarityMeasure& measure, const Volume<float>& fixed,
                       const Volume<float>& moving)
    : ctx_(ctx), measure_(measure), fixed_(fixed), moving_(moving),
      force_(ctx, 3 * fixed.extent().count()), sums_(ctx, fixed.extent()) {}

double LinearCost::evaluate(const Eigen::Affine3d& world, Eigen::Matrix<double, 3, 4>* gradient) {
  ++evaluations_;
  const Extent n = fixed_.extent();
  const FieldView<float> force{gradient ? force_.data() : nullptr, n};
  double *cost = static_cast<double*>(ctx_.readback()), *moments = cost + 1;
  measure_.set_map(index_map(fixed_.geometry(), world, moving_.geometry()));
  measure_.evaluate(ctx_, {nullptr, n}, force, cost);
  if (gradient) sums_.moments(ctx_, force, moments);
  ctx_.synchronize();
  if (gradient) *gradient = world_gradient(moments, fixed_.geometry(), world, moving_.geometry());
  return *cost;
}

SmoothCost LinearCost::of(const LinearParameters& parameters, const OverlapGuard& guard,
                          double smallest_overlap, const Eigen::Affine3d& initial) {
  const double of_initial = initial.linear().determinant();
  return [this, &parameters, &guard, smallest_overlap, of_initial](const Eigen::VectorXd& p,
                                                                   Eigen::VectorXd* gradient) {
    const Eigen::Affine3d world = parameters.affine(p);
    constexpr double most = 3;  // beyond, the transform has run away from the images
    const double determinant = world.linear().determinant() / of_initial;
    if (!(determinant < most * most * most && determinant > 1 / (most * most * most)) ||
        guard.overlap(world) < smallest_overlap)
      return double(INFINITY);
    if (!gradient) return evaluate(world);
    Eigen::Matrix<double, 3, 4> by_world;
    const double cost = evaluate(world, &by_world);
    const Eigen::Matrix<double, 3, 4, Eigen::RowMajor> rows = by_world;
    *gradient = parameters.jacobian(p).transpose() *
                Eigen::Map<const Eigen::Matrix<double, 12, 1>>(rows.data());
    return cost;
  };
}

std::function<Eigen::MatrixXd(const Eigen::VectorXd& p, double cost)> LinearCost::ssd_curvature_of(
    const LinearParameters& parameters) {
  if (!ssd_curvature_) ssd_curvature_.emplace(ctx_, fixed_.extent());
  return [this, &parameters](const Eigen::VectorXd& p, double cost) {
    return ssd_curvature_->evaluate(ctx_, fixed_, moving_, parameters.affine(p),
                                    parameters.jacobian(p), cost);
  };
}

}  // namespace freeflow
