// Private: one direction of a flow: a pair of images, or of channels, with the measure, the demons'
// update, the unbiased term and the penalties that look at it, and how the state becomes its
// displacement. A symmetric flow has two, which share the state.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <freeflow/deform/displacement_field.h>
#include <freeflow/registration/flow/demons_force.h>
#include <freeflow/registration/flow/penalty_sum.h>
#include <freeflow/regularize/symmetric_kl.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

/// What a direction looks at besides the measure.
struct DirectionTerms {
  bool demons_updates = false, of_thirion = false;
  double kl = 0;
  KlKernel force_kernel = KlKernel::reuse;
  const std::vector<PenaltyTerm>& penalties;
  const std::vector<DemonsChannel>& channels;
};

class FlowDirection {
 public:
  /// time: the displacement is exp(time * state); 0: it is the state. The measure must have been
  /// prepared for the pairs, whose images must outlive this.
  FlowDirection(Context& ctx, std::span<const ImagePair> images, SimilarityMeasure& measure,
                const DirectionTerms& terms, double time);

  /// terms[0] gets the measure's cost, terms[1] the unbiased term, terms[2] and on the penalties,
  /// all unweighted; `force`, if `with_force`, the force of all, or the demons' update of `step`.
  /// `force` is overwritten anyway. Neither allocates nor waits.
  void evaluate(Context& ctx, FieldView<const float> state, double step, FieldView<float> force,
                bool with_force, double* terms);

 private:
  SimilarityMeasure& measure_;
  double time_, kl_weight_;
  DisplacementField exponential_;
  std::optional<DemonsForce> demons_;
  std::optional<SymmetricKl> kl_;
  PenaltySum penalties_;
};

}  // namespace freeflow
