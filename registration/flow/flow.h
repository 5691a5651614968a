// Nonrigid registration by a greedy compositive flow (Chefd'hotel, Hermosillo and Faugeras 2002;
// Ledig 2010), coarse to fine: moving(affine(x + u(x))) is brought to match fixed(x) by many small
// steps,
//   phi <- phi o (id + t v),   v = G_update * force,   then u <- D u,
// D a diffusion that spares jumps, where organs slide (field_diffusion.h), or a Gaussian.
// The force is that of steepest descent per mm of world motion, so that thick slices are no
// privilege. t brings the speeds' root mean square to 0.3 `step`, and the fastest voxels are bent
// back so that none moves farther than `step`. Each step is smooth and small against the voxels, so
// it has an inverse, and so has what they compose to. A level ends in the mean of its last states,
// the last quarter or those that no longer lowered the cost. Where sampling still leaves a fold, it
// is taken out at the end (unfold.h) and reported.
#pragma once

#include <freeflow/registration/flow/step_options.h>
#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>
#include <freeflow/registration/registration_result.h>
#include <freeflow/regularize/navier.h>
#include <freeflow/regularize/symmetric_kl.h>

namespace freeflow {

struct FlowOptions : StepOptions {
  /// Both images pull on one stationary velocity v, (force forth - force back) / 2, the one at
  /// exp(v), the other at exp(-v); they meet at exp(v / 2). The result has v, and its inverse is
  /// exp(-v) itself. On one grid with the identity to start from, swapped images give swapped
  /// results to the bit; else to what resampling the moving image to the fixed grid changes.
  bool symmetric = false;
  /// Symmetric: starts at exp(v), v on any grid, which must live as long as the registration; it
  /// takes the place of an initial displacement.
  const DisplacementField* initial_velocity = nullptr;
  FieldSigmas sigma_field;  ///< empty: the field is smoothed by diffusion in place of a Gaussian
  VelocityKind velocity = VelocityKind::gaussian;
  Viscosity viscosity;  ///< of the Navier velocity
  /// weight of the symmetric Kullback-Leibler term (symmetric_kl.h) beside the measure
  double kl = 0;
  KlKernel force_kernel = KlKernel::reuse;

  /// Throws InvalidArgument with the field, as FlowOptions::field, and its mend.
  void validate() const;
};

/// Registers. Fixed and moving may live on different grids; the context's device holds them. Throws
/// InvalidArgument for unusable options, geometry or device, RegistrationError for images without
/// content or overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_flow(Context& ctx, const Volume<float>& fixed,
                                 const Volume<float>& moving, const FlowOptions& options = {},
                                 const Masks& masks = {}, Observer* observer = nullptr);
/// The same of images that are kept for further registrations.
RegistrationResult register_flow(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                 const FlowOptions& options = {}, Observer* observer = nullptr);

}  // namespace freeflow
