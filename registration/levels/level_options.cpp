#include <freeflow/registration/levels/level_options.h>

#include <cmath>
#include <string>

namespace freeflow {

void LevelOptions::validate_levels(const char* model) const {
  const std::string of = std::string(model) + "::";
  require(levels >= 1 && levels <= 8, of + "levels must lie between 1 and 8");
  require(first_level >= 0 && first_level < levels,
          of + "first_level must lie between 0 and the number of levels less one");
  require(iterations.size() <= 1 || int(iterations.size()) == levels,
          of + "iterations takes one value or one per level (" + std::to_string(levels) +
              "), coarse to fine");
  for (int n : iterations) require(n >= 0, of + "iterations must not be negative");
  for (const PenaltyTerm& p : penalties)
    require(p.make && p.weight >= 0 && p.weight <= 1e9,
            of + "penalties need a factory and a weight between 0 and 1e9");
  similarity.validate();
  require(initial.matrix().allFinite() && std::abs(initial.linear().determinant()) > 1e-6,
          of + "initial is not an invertible affine");
}

}  // namespace freeflow
