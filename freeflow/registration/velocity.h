// Private: what turns a force into a velocity: a Gaussian or the viscous fluid. Both leave it in the force's own units (navier.h).
#pragma once

#include <optional>

#include <freeflow/registration/flow.h>
#include <freeflow/regularize/navier.h>

namespace freeflow {

/// A standard deviation of a level in voxels per axis.
Eigen::Vector3d in_voxels(const Sigma& sigma, const Geometry& level);

class Velocity {
 public:
  /// Allocates what the chosen way needs on a level.
  Velocity(Context& ctx, const Geometry& level, const FlowOptions& options);

  /// `force` is used up; the two must not overlap. Neither allocates nor waits.
  void from_force(Context& ctx, FieldView<float> force, FieldView<float> velocity) const;

  /// Device memory that it takes at most, in bytes, but for tables.
  static std::size_t bytes(const Context& ctx, const Geometry& level, const FlowOptions& options);

 private:
  std::optional<GaussianFilter> gaussian_;
  std::optional<NavierVelocity> navier_;
};

}  // namespace freeflow
