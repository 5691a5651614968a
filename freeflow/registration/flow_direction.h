// Private: one direction of a flow: a pair of images with the measure, the demons' update and the unbiased term that look at it, and how
// the state becomes its displacement. A symmetric flow has two, which share the state.
#pragma once

#include <optional>

#include <freeflow/registration/demons_force.h>
#include <freeflow/registration/flow.h>

namespace freeflow {

class FlowDirection {
 public:
  /// time: the displacement is exp(time * state); 0: it is the state. The measure must have been prepared for the pair, which must outlive
  /// this.
  FlowDirection(Context& ctx, const ImagePair& images, SimilarityMeasure& measure, const FlowOptions& options, double time);

  /// terms[0] gets the measure's cost, terms[1] the unbiased term, unweighted; `force`, if `with_force`, the force of both, or the demons'
  /// update of `step`. `force` is overwritten anyway. Neither allocates nor waits.
  void evaluate(Context& ctx, FieldView<const float> state, double step, FieldView<float> force, bool with_force, double* terms);

  /// Whether evaluate gives an update that has its length already.
  static bool gives_updates(const FlowOptions& options) {
    return options.model == FlowModel::demons && options.similarity.kind == SimilarityKind::ssd;
  }

  /// Device memory at most, in bytes, but for the measure.
  static std::size_t bytes(const Context& ctx, Extent extent, const FlowOptions& options, bool exponential);

 private:
  SimilarityMeasure& measure_;
  const FlowOptions& options_;
  double time_;
  DisplacementField exponential_;
  std::optional<DemonsForce> demons_;
  std::optional<SymmetricKl> kl_;
};

}  // namespace freeflow
