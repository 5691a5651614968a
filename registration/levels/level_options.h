// What every nonrigid registration is told: what to compare by, on which levels, where to start and
// what to return.
#pragma once

#include <vector>

#include <freeflow/deform/displacement_field.h>
#include <freeflow/regularize/penalty.h>
#include <freeflow/similarity/similarity_choice.h>

namespace freeflow {

struct LevelOptions {
  SimilarityChoice similarity;
  std::vector<PenaltyTerm> penalties;  ///< of the caller's own, beside those of the model
  int levels = 3;                      ///< 1 to 8
  std::vector<int>
      iterations;  ///< one value, or one per level, coarse to fine; empty: the model's own
  /// world transform, fixed point to moving point (mm, LPS)
  Eigen::Affine3d initial = Eigen::Affine3d::Identity();
  /// Starts at x -> initial(x + u(x)), u on any grid; it must live as long as the registration.
  /// The first level takes it over, so take one level to refine what is fine already.
  const DisplacementField* initial_displacement = nullptr;
  /// Levels before this one are left out: what they would find, the initial displacement has.
  /// Counts from 0, the coarsest; options with a value per level keep theirs.
  int first_level = 0;
  bool with_inverse = false;  ///< a tenth of a registration's time on the CPU

 protected:
  /// Throws InvalidArgument with the field, as Model::field, and its mend.
  void validate_levels(const char* model) const;
  /// Of the level, where `iterations` has values.
  int given_iterations(int level) const {
    return iterations.size() == 1 ? iterations[0] : iterations[std::size_t(level)];
  }
};

}  // namespace freeflow
