#include <freeflow/registration/flow/demons.h>

#include <freeflow/registration/flow/stepwise_flow.h>
#include <freeflow/registration/levels/with_prepared.h>

namespace freeflow {

std::optional<DemonsKind> parse_demons(std::string_view name) {
  if (name == "log") return DemonsKind::log;
  if (name == "esm") return DemonsKind::esm;
  if (name == "thirion") return DemonsKind::thirion;
  return std::nullopt;
}

void DemonsOptions::validate() const {
  validate_steps("DemonsOptions");
  sigma_field.validate("DemonsOptions::sigma_field", levels);
  const bool log = kind == DemonsKind::log;
  require(penalties.empty(),
          "DemonsOptions::penalties must be empty: an update of demons is no force that a "
          "penalty's could be added to");
  require(!symmetric || log, "DemonsOptions::symmetric goes with the log-domain kind");
  require(!log || !initial_displacement,
          "DemonsOptions::initial_displacement cannot start log-domain demons, which keep a "
          "velocity: give DemonsOptions::initial_velocity, "
          "an affine alone, or take another kind");
  require(log || !initial_velocity,
          "DemonsOptions::initial_velocity starts log-domain demons alone");
}

RegistrationResult register_demons(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                   const DemonsOptions& options, Observer* observer) {
  options.validate();
  StepwiseSettings settings;
  settings.symmetric = options.symmetric;
  settings.log_domain = options.kind == DemonsKind::log;
  settings.composes = options.kind == DemonsKind::esm;
  settings.demons_updates = options.similarity.is(SimilarityKind::ssd);
  settings.of_thirion = options.kind == DemonsKind::thirion;
  settings.initial_velocity = options.initial_velocity;
  settings.sigma_field = options.sigma_field;
  settings.mend_of_folds =
      "raise DemonsOptions::sigma_update or DemonsOptions::sigma_field, or lower "
      "DemonsOptions::step";
  return run_stepwise_flow(ctx, fixed, moving, options, settings, observer);
}

RegistrationResult register_demons(Context& ctx, const Volume<float>& fixed,
                                   const Volume<float>& moving, const DemonsOptions& options,
                                   const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_demons(ctx, f, m, options, observer);
  });
}

}  // namespace freeflow
