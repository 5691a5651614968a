#include <freeflow/registration/flow/penalty_sum.h>

namespace freeflow {

PenaltySum::PenaltySum(Context& ctx, Extent grid, const std::vector<PenaltyTerm>& terms) {
  for (const PenaltyTerm& term : terms) {
    weights_.push_back(term.weight);
    penalties_.push_back(term.make());
    penalties_.back()->prepare(ctx, grid);
  }
}

void PenaltySum::add_force(Context& ctx, FieldView<const float> u, FieldView<float> force,
                           double* values) {
  for (std::size_t p = 0; p < penalties_.size(); ++p)
    penalties_[p]->add_force(ctx, {u, {1, 1, 1}}, float(weights_[p]), force, values + p);
}

double weighted_sum(const std::vector<PenaltyTerm>& terms, const double* values) {
  double sum = 0;
  for (std::size_t p = 0; p < terms.size(); ++p) sum += terms[p].weight * values[p];
  return sum;
}

}  // namespace freeflow
