#include <freeflow/registration/flow/step_options.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace freeflow {

std::optional<VelocityKind> parse_velocity(std::string_view name) {
  if (name == "gaussian") return VelocityKind::gaussian;
  if (name == "navier") return VelocityKind::navier;
  return std::nullopt;
}

int StepOptions::iterations_of_level(int level) const {
  constexpr int from_the_finest[] = {20, 40, 80, 100};
  return iterations.empty() ? from_the_finest[std::min(levels - 1 - level, 3)]
                            : given_iterations(level);
}

void StepOptions::validate_steps(const char* model) const {
  const std::string of = std::string(model) + "::";
  validate_levels(model);
  require(sigma_update.value > 0 && sigma_update.value <= 50,
          of + "sigma_update must lie above 0 and be at most 50");
  require(step > 0 && step <= 1,
          of + "step must lie above 0 and be at most 1 voxel: longer ones may fold");
  require(tolerance >= 0 && std::isfinite(tolerance), of + "tolerance must not be negative");
}

Sigma FieldSigmas::of_level(int level) const {
  if (empty()) return {0.6};
  return size() == 1 ? front() : (*this)[std::size_t(level)];
}

void FieldSigmas::validate(const char* field, int levels) const {
  require(size() <= 1 || int(size()) == levels, std::string(field) +
                                                    " takes one value or one per level (" +
                                                    std::to_string(levels) + "), coarse to fine");
  for (const Sigma& s : *this)
    require(s.value >= 0 && s.value <= 50, std::string(field) + " must lie between 0 and 50");
}

}  // namespace freeflow
