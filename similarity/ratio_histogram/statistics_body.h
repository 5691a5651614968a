// Private: from the sums of ratio_histogram.h to the correlation ratio.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

namespace freeflow {

/// Terms over the bins: N, S, sum of S_i^2 / N_i.
struct RatioTerm : SumBody {
  static constexpr int terms = 3;
  const std::uint64_t* sums;
  int bins;

  FREEFLOW_HD double operator()(std::size_t bin, int term) const {
    const double n = double(sums[bin]), s = double(sums[bins + bin]);
    if (term == 2) return n > 0 ? s * (s / n) : 0.0;
    return term == 0 ? n : s;
  }
  FREEFLOW_HD double square() const {
    return fma_(double(sums[2 * bins + 1]), 4294967296.0, double(sums[2 * bins]));
  }
};

FREEFLOW_HD RatioStatistics ratio_statistics_from(const double* term, double square, double unit) {
  RatioStatistics r{};
  const double mean = term[1] / term[0], spread = square - term[1] * mean;
  const double e = (square - term[2]) / spread;
  const bool constant = !(spread > 1e-12 * square);  // what rounding leaves of a constant image
  r.cost = !(term[0] > 0) ? double(NAN) : constant ? 1.0 : e > 0 ? (e < 1 ? e : 1.0) : 0.0;
  r.mass = term[0] / unit;
  r.mean = term[0] > 0 ? mean : 0.0;
  r.spread = term[0] > 0 && !constant ? spread / unit : 0.0;
  return r;
}

/// RatioOutputs::means of one bin.
FREEFLOW_HD float ratio_mean(const std::uint64_t* sums, int bins, int bin,
                             const RatioStatistics& whole) {
  const double n = double(sums[bin]);
  return float((n > 0 ? double(sums[bins + bin]) / n : whole.mean) / double(RatioInput::most));
}

}  // namespace freeflow
