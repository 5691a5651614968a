#include <freeflow/registration/velocity.h>

namespace freeflow {

Eigen::Vector3d in_voxels(const Sigma& sigma, const Geometry& level) {
  const double mm = sigma.in_mm ? sigma.value : sigma.value * level.spacing.minCoeff();
  return level.spacing.cwiseInverse() * mm;
}

Velocity::Velocity(Context& ctx, const Geometry& level, const FlowOptions& options) {
  if (options.velocity == VelocityKind::navier)
    navier_.emplace(ctx, level, options.viscosity);
  else
    gaussian_.emplace(ctx, level.extent, in_voxels(options.sigma_update, level), options.smoother);
}

void Velocity::from_force(Context& ctx, FieldView<float> force, FieldView<float> velocity) const {
  if (navier_)
    navier_->apply(ctx, force, velocity);
  else
    gaussian_->apply(ctx, force, velocity);
}

std::size_t Velocity::bytes(const Context& ctx, const Geometry& level, const FlowOptions& options) {
  return options.velocity == VelocityKind::navier
             ? NavierVelocity::bytes(ctx, level.extent)
             : GaussianFilter::bytes(ctx, level.extent, in_voxels(options.sigma_update, level), options.smoother);
}

}  // namespace freeflow
