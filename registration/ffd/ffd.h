// Nonrigid registration by a cubic B-spline free-form deformation (Rueckert 1999), coarse to fine:
// moving(affine(x + u(x))) is brought to match fixed(x).
#pragma once

#include <freeflow/registration/ffd/optimizer.h>
#include <freeflow/registration/levels/level_options.h>
#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>
#include <freeflow/registration/registration_result.h>

namespace freeflow {

/// Distance of the control points on the finest level.
struct ControlSpacing {
  double value = 3;
  bool in_mm = false;  ///< else in voxels of the finest level: of the smallest voxel side, the same
                       ///< length on all axes
};

/// Of LevelOptions: three levels, the automatic measure; empty `iterations` are 20 on the finest
/// level, then 60, then 100; an initial displacement is taken at the control points of the first
/// level's lattice, and what is finer than their distance is found again or lost.
struct FfdOptions : LevelOptions {
  ControlSpacing spacing;
  // Weights of penalties are in units of the measure's range (similarity_measure.h): one weight
  // serves all measures.
  /// of the total variation of the displacement: a jump, as where organs slide, costs no more than
  /// the same change spread out
  double total_variation = 0.16;
  /// of the bending energy, in squared control spacings of the level: what is smooth on the scale
  /// of the lattice costs the same whatever the object's size
  double bending = 0;
  /// of the squared log-Jacobian on the finest level; on coarser ones in proportion to the squared
  /// control spacing: there the images say less about volumes
  double log_jacobian = 0.02;
  OptimizerKind optimizer = OptimizerKind::lbfgs;
  double tolerance = 1e-5;           ///< of the optimizer
  bool with_control_points = false;  ///< RegistrationResult::control_points
  /// On levels of more than four times as many voxels, displacement and force exist for so many at
  /// a time where the measure allows it (slab_measure.h: nmi, mi): 24 bytes a voxel less. Where
  /// several GPUs share the work, on every level, for so many on each. No bit depends on it.
  std::size_t slab_voxels = std::size_t(1) << 26;

  FfdOptions() { similarity.kind = SimilarityKind::automatic; }

  /// Throws InvalidArgument with the field, as FfdOptions::field, and its mend.
  void validate() const;
  int iterations_of_level(int level) const;
};

/// Registers. Fixed and moving may live on different grids; the context's device holds them. Throws
/// InvalidArgument for unusable options, geometry or device, RegistrationError for images without
/// content or overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_ffd(Context& ctx, const Volume<float>& fixed,
                                const Volume<float>& moving, const FfdOptions& options = {},
                                const Masks& masks = {}, Observer* observer = nullptr);
/// The same of images that are kept for further registrations.
RegistrationResult register_ffd(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                const FfdOptions& options = {}, Observer* observer = nullptr);

}  // namespace freeflow
