#include <freeflow/registration/flow/velocity.h>

namespace freeflow {

Eigen::Vector3d in_voxels(const Sigma& sigma, const Geometry& level) {
  const double mm = sigma.in_mm ? sigma.value : sigma.value * level.spacing.minCoeff();
  return level.spacing.cwiseInverse() * mm;
}

Velocity::Velocity(Context& ctx, const Geometry& level, const StepOptions& options,
                   VelocityKind kind, const Viscosity& viscosity) {
  if (kind == VelocityKind::navier)
    navier_.emplace(ctx, level, viscosity);
  else
    gaussian_.emplace(ctx, level.extent, in_voxels(options.sigma_update, level), options.smoother);
}

void Velocity::from_force(Context& ctx, FieldView<float> force, FieldView<float> velocity) const {
  if (navier_)
    navier_->apply(ctx, force, velocity);
  else
    gaussian_->apply(ctx, force, velocity);
}

}  // namespace freeflow
