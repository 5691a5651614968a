// Nonrigid registration by a viscous fluid (Lee 2012, 2.2; Christensen 1996, D'Agostino 2003),
// coarse to fine: moving(affine(x + u(x))) is brought to match fixed(x). One iteration:
//   1. the force f = -dE/du of the measure and of the weighted symmetric Kullback-Leibler term, at
//   the whole displacement;
//   2. the velocity v from f by a Gaussian or the Navier-Cauchy equation (velocity.h);
//   3. an Euler step u <- u + dt (v + grad u v), dt such that the fastest voxel moves by `step`
//   smallest voxel sides;
//   4. the moving image is sampled anew, through the whole displacement.
// Lee maps x to x - u(x), this library to x + u(x): hence the sign of grad u v.
// Where the step would bring a determinant of I + grad u below 0.5 the grid is laid anew first: u
// is composed into the displacement `base` gained so far, w(x) = u(x) + base(x + u(x)), and starts
// from 0, and if that is not enough the step is halved. So u never folds, and w only where sampling
// a composition does (unfold.h). With the Kullback-Leibler term no determinant of the whole
// displacement may fall below
// 0.05, where its logarithm would run away: a step that does is taken back and halved. Nothing is
// clamped. An iteration waits for the device once, and once more for every regridding.
#pragma once

#include <freeflow/registration/flow/step_options.h>
#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>
#include <freeflow/registration/registration_result.h>
#include <freeflow/regularize/navier.h>
#include <freeflow/regularize/symmetric_kl.h>

namespace freeflow {

/// Of StepOptions: sigma_update is 3 voxels. A fluid forgets its displacement, so nothing but the
/// smoothness of every step keeps noise out.
struct FluidOptions : StepOptions {
  FluidOptions() { sigma_update = {3}; }

  VelocityKind velocity = VelocityKind::gaussian;
  Viscosity viscosity;  ///< of the Navier velocity
  /// weight of the symmetric Kullback-Leibler term (symmetric_kl.h) beside the measure
  double kl = 0;
  KlKernel force_kernel = KlKernel::reuse;

  /// Throws InvalidArgument with the field, as FluidOptions::field, and its mend.
  void validate() const;
};

/// Registers. Fixed and moving may live on different grids; the context's device holds them. Throws
/// InvalidArgument for unusable options, geometry or device, RegistrationError for images without
/// content or overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_fluid(Context& ctx, const Volume<float>& fixed,
                                  const Volume<float>& moving, const FluidOptions& options = {},
                                  const Masks& masks = {}, Observer* observer = nullptr);
/// The same of images that are kept for further registrations.
RegistrationResult register_fluid(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                  const FluidOptions& options = {}, Observer* observer = nullptr);

}  // namespace freeflow
