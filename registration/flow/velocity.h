// Private: what turns a force into a velocity: a Gaussian or the viscous fluid. Both leave it in
// the force's own units (navier.h).
#pragma once

#include <optional>

#include <freeflow/registration/flow/step_options.h>
#include <freeflow/regularize/navier.h>

namespace freeflow {

/// A standard deviation of a level in voxels per axis.
Eigen::Vector3d in_voxels(const Sigma& sigma, const Geometry& level);

class Velocity {
 public:
  /// Allocates what the chosen way needs on a level.
  Velocity(Context& ctx, const Geometry& level, const StepOptions& options, VelocityKind kind,
           const Viscosity& viscosity);

  /// `force` is used up; the two must not overlap. Neither allocates nor waits.
  void from_force(Context& ctx, FieldView<float> force, FieldView<float> velocity) const;

 private:
  std::optional<GaussianFilter> gaussian_;
  std::optional<NavierVelocity> navier_;
};

}  // namespace freeflow
