// Private: the loop that flow.h and demons.h share: a force, smoothed and scaled to a small motion,
// moves a state, which is the displacement or the velocity whose exponential it is.
#pragma once

#include <freeflow/registration/flow/step_options.h>
#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/registration_result.h>
#include <freeflow/regularize/navier.h>
#include <freeflow/regularize/symmetric_kl.h>

namespace freeflow {

/// What tells flow and demons apart.
struct StepwiseSettings {
  bool symmetric = false;
  bool log_domain = false;  ///< the state is a velocity; it grows by addition
  /// else motions are added to the displacement. Of no account in the log domain
  bool composes = true;
  bool demons_updates = false;  ///< the force is the demons' update, which has its length already
  bool of_thirion = false;      ///< that of Thirion
  const DisplacementField* initial_velocity = nullptr;
  FieldSigmas sigma_field;
  bool diffuses = false;  ///< in place of a Gaussian on the field: field_diffusion.h
  bool averages = false;  ///< a level's result is the mean of its last states (running_mean.h)
  VelocityKind velocity = VelocityKind::gaussian;
  Viscosity viscosity;
  double kl = 0;
  KlKernel force_kernel = KlKernel::reuse;
  const char* mend_of_folds = "";
};

/// Runs a registration whose options have been validated.
RegistrationResult run_stepwise_flow(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                     const StepOptions& options, const StepwiseSettings& settings,
                                     Observer* observer);

}  // namespace freeflow
