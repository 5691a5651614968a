// What a registration returns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/registration/linear/linear_result.h>
#include <freeflow/registration/observer.h>
#include <freeflow/registration/search/start_record.h>
#include <freeflow/regularize/unfold.h>

namespace freeflow {

/// moving(affine(x + u(x))) matches fixed(x). Fields lie on the fixed grid, on the device of the
/// registration's context.
struct RegistrationResult {
  /// world transform (mm, LPS) applied after the displacement
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  DisplacementField displacement;  ///< u
  /// v with u = exp(v) but for folds taken out, where the model keeps one: a symmetric flow and
  /// log-domain demons. Else empty.
  DisplacementField velocity;
  /// The spline that u was evaluated from, before folds were taken out, where
  /// FfdOptions::with_control_points asked for it. Its axes are those of the fixed grid in
  /// canonical order (storage_order.h); in the world it is the same deformation.
  std::optional<ControlPointGrid> control_points;
  std::optional<Inverse>
      inverse;  ///< of the displacement, where LevelOptions::with_inverse asked for it
  JacobianStatistics jacobian;
  UnfoldResult unfolding;          ///< folds that were taken out after the optimisation
  UnfoldResult inverse_unfolding;  ///< the same of the inverse
  /// share of the fixed voxels that fall on moving ones, before the first stage and at the end
  double overlap_before = 0, overlap_after = 0;
  std::vector<LevelRecord> levels;
  std::vector<std::string> warnings;  ///< sentences for the user: folds left, nothing gained; those
                                      ///< of the linear stage are in `linear`
  std::optional<LinearResult> linear;  ///< the linear stage, where there was one
  std::optional<StartRecord> start;    ///< what was found of a discrete start, taken or not
  double nonrigid_seconds = 0, inverse_seconds = 0;
};

}  // namespace freeflow
