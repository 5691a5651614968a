#include <freeflow/registration/flow/flow.h>

#include <freeflow/registration/flow/stepwise_flow.h>
#include <freeflow/registration/levels/with_prepared.h>

namespace freeflow {

void FlowOptions::validate() const {
  validate_steps("FlowOptions");
  sigma_field.validate("FlowOptions::sigma_field", levels);
  viscosity.validate();
  require(kl >= 0 && kl <= 1e9, "FlowOptions::kl must lie between 0 and 1e9");
  require(!symmetric || !initial_displacement,
          "FlowOptions::initial_displacement cannot start a symmetric flow, which keeps a "
          "velocity: give FlowOptions::initial_velocity, or an "
          "affine alone");
  require(
      symmetric || !initial_velocity,
      "FlowOptions::initial_velocity starts a symmetric flow alone: set FlowOptions::symmetric");
}

RegistrationResult register_flow(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                 const FlowOptions& options, Observer* observer) {
  options.validate();
  StepwiseSettings settings;
  settings.symmetric = settings.log_domain = options.symmetric;
  settings.initial_velocity = options.initial_velocity;
  settings.sigma_field = options.sigma_field;
  settings.diffuses = options.sigma_field.empty();
  settings.averages = true;
  settings.velocity = options.velocity;
  settings.viscosity = options.viscosity;
  settings.kl = options.kl;
  settings.force_kernel = options.force_kernel;
  settings.mend_of_folds =
      "raise FlowOptions::sigma_update or FlowOptions::sigma_field, or lower FlowOptions::step";
  return run_stepwise_flow(ctx, fixed, moving, options, settings, observer);
}

RegistrationResult register_flow(Context& ctx, const Volume<float>& fixed,
                                 const Volume<float>& moving, const FlowOptions& options,
                                 const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_flow(ctx, f, m, options, observer);
  });
}

}  // namespace freeflow
