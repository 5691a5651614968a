// Nonrigid registration by a cubic B-spline free-form deformation (Rueckert 1999), coarse to fine:
// moving(affine(x + u(x))) is brought to match fixed(x).
#pragma once

#include <string>
#include <vector>

#include <freeflow/deform/field_operations.h>
#include <freeflow/registration/observer.h>
#include <freeflow/registration/optimizer.h>
#include <freeflow/registration/similarity_choice.h>
#include <freeflow/registration/unfold.h>

namespace freeflow {

/// Distance of the control points on the finest level.
struct ControlSpacing {
  double value = 5;
  bool in_mm = false;  ///< else in voxels of the finest level: of the smallest voxel side, the same length on all axes
};

struct FfdOptions {
  SimilarityChoice similarity;
  int levels = 3;
  std::vector<int> iterations;  ///< one value, or one per level, coarse to fine; empty: 100, and 60 on the finest
  ControlSpacing spacing;
  double bending = 1.0;        ///< weight of the bending energy (mm^2)
  double log_jacobian = 0.05;  ///< weight of the squared log-Jacobian
  OptimizerKind optimizer = OptimizerKind::lbfgs;
  double tolerance = 1e-5;                                ///< of the optimizer
  Eigen::Affine3d initial = Eigen::Affine3d::Identity();  ///< world transform, fixed point to moving point (mm, LPS)
  /// Starts at x -> initial(x + u(x)), u on any grid; it must live as long as the registration. The coarsest lattice takes u's values at
  /// its control points; what is finer than their distance is found again or lost.
  const DisplacementField* initial_displacement = nullptr;

  /// Throws InvalidArgument with the field and its mend.
  void validate() const;
  int iterations_of_level(int level) const;
};

struct RegistrationResult {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();  ///< world transform applied after the displacement
  DisplacementField displacement;                        ///< on the fixed grid
  Inverse inverse;                                       ///< of the displacement, on the fixed grid
  JacobianStatistics jacobian;
  UnfoldResult unfolding;                        ///< folds that were taken out after the optimisation
  double overlap_before = 0, overlap_after = 0;  ///< share of the fixed voxels that land on moving ones
  std::vector<LevelRecord> levels;
  std::vector<std::string> warnings;  ///< sentences for the user: folds left, nothing gained
  double nonrigid_seconds = 0, inverse_seconds = 0;
};

/// Registers. Fixed and moving may live on different grids. Throws InvalidArgument for unusable options or geometry,
/// RegistrationError for images without content or overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_ffd(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FfdOptions& options = {},
                                const Masks& masks = {}, Observer* observer = nullptr);

/// Device memory that register_ffd will need at most, in bytes, the two images included.
std::size_t predict_ffd_bytes(const Context& ctx, const Geometry& fixed, const Geometry& moving, const FfdOptions& options,
                              const Masks& masks = {});

}  // namespace freeflow
