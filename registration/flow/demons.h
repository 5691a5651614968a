// Nonrigid registration by demons, coarse to fine: moving(affine(x + u(x))) is brought to match
// fixed(x) by Gauss-Newton updates, smoothed before they are applied, and a field that is smoothed
// after. With the sum of squared differences the updates are the demons' own (demons_force.h); with
// other measures they are the measure's force, scaled as in a flow (flow.h).
#pragma once

#include <freeflow/registration/flow/step_options.h>
#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>
#include <freeflow/registration/registration_result.h>

namespace freeflow {

enum class DemonsKind {
  log,  ///< log-domain diffeomorphic (Vercauteren 2008): u = exp(v), v <- G_field * (v + t G_update
        ///< * force), so that -v gives the inverse
  esm,  ///< symmetric forces, composed (Vercauteren 2009): phi <- phi o (id + G_update * force),
        ///< then u <- G_field * u
  thirion,  ///< the fixed image's gradient drives, added (Thirion 1998): u <- G_field * (u +
            ///< G_update * force); folds are taken out at the end
};
std::optional<DemonsKind> parse_demons(std::string_view name);

struct DemonsOptions : StepOptions {
  DemonsKind kind = DemonsKind::log;
  bool symmetric = false;  ///< log: as FlowOptions::symmetric
  /// log: starts at exp(v), v on any grid, which must live as long as the registration; it takes
  /// the place of an initial displacement.
  const DisplacementField* initial_velocity = nullptr;
  FieldSigmas sigma_field;

  /// Throws InvalidArgument with the field, as DemonsOptions::field, and its mend.
  void validate() const;
};

/// Registers. Fixed and moving may live on different grids; the context's device holds them. Throws
/// InvalidArgument for unusable options, geometry or device, RegistrationError for images without
/// content or overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_demons(Context& ctx, const Volume<float>& fixed,
                                   const Volume<float>& moving, const DemonsOptions& options = {},
                                   const Masks& masks = {}, Observer* observer = nullptr);
/// The same of images that are kept for further registrations.
RegistrationResult register_demons(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                   const DemonsOptions& options = {}, Observer* observer = nullptr);

}  // namespace freeflow
