// The words and the limits of a linear registration's options.
#include <freeflow/registration/linear/linear_options.h>

#include <algorithm>

namespace freeflow {

std::optional<LinearSearch> parse_linear_search(std::string_view name) {
  if (name == "auto") return LinearSearch::automatic;
  if (name == "gradient") return LinearSearch::gradient;
  if (name == "powell") return LinearSearch::powell;
  if (name == "hill") return LinearSearch::hill;
  if (name == "flirt") return LinearSearch::flirt;
  return std::nullopt;
}

std::optional<LinearRefinement> parse_linear_refinement(std::string_view name) {
  if (name == "auto") return LinearRefinement::automatic;
  if (name == "blocks") return LinearRefinement::blocks;
  if (name == "none") return LinearRefinement::none;
  return std::nullopt;
}

bool LinearOptions::refines() const {
  return refinement == LinearRefinement::blocks ||
         (refinement == LinearRefinement::automatic && search == LinearSearch::automatic);
}

int LinearOptions::iterations_of_level(int level, int levels_kept) const {
  constexpr int usual[] = {40, 30, 15, 6};
  if (iterations.empty()) return usual[std::min(level, 3)];
  return iterations.size() == 1 ? iterations[0]
                                : iterations[iterations.size() - std::size_t(levels_kept - level)];
}

void LinearOptions::validate() const {
  require(levels >= 1 && levels <= 8, "LinearOptions::levels must lie between 1 and 8");
  require(iterations.size() <= 1 || int(iterations.size()) == levels,
          "LinearOptions::iterations takes one value or one per level (" + std::to_string(levels) +
              "), coarse to fine");
  for (int n : iterations) require(n >= 0, "LinearOptions::iterations must not be negative");
  similarity.validate();
  require(resolution.mm >= 0 && resolution.mm <= 10 && resolution.degrees >= 0 &&
              resolution.degrees <= 10,
          "LinearOptions::resolution must lie between 0 and 10");
  require(smallest_overlap >= 0 && smallest_overlap <= 1,
          "LinearOptions::smallest_overlap must lie between 0 and 1");
  require(initial.matrix().allFinite() && initial.linear().determinant() > 1e-6,
          "LinearOptions::initial is not an invertible affine that keeps left and right");
}

}  // namespace freeflow
