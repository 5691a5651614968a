// Private: the penalties of the caller's own on the dense field of a flow.
#pragma once

#include <memory>
#include <vector>

#include <freeflow/regularize/penalty.h>

namespace freeflow {

class PenaltySum {
 public:
  PenaltySum(Context& ctx, Extent grid, const std::vector<PenaltyTerm>& terms);

  /// values[p], in device memory, gets the unweighted penalty p; force (which must not be null)
  /// gains that of all. Neither allocates nor waits.
  void add_force(Context& ctx, FieldView<const float> u, FieldView<float> force, double* values);

 private:
  std::vector<double> weights_;
  std::vector<std::unique_ptr<Penalty>> penalties_;
};

/// The weighted sum of values that have come to the host.
double weighted_sum(const std::vector<PenaltyTerm>& terms, const double* values);

}  // namespace freeflow
