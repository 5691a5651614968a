// Private: moments and percentiles, as numpy defines them.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace freeflow {

/// Mean and standard deviation of numbers that come one by one or in parts, without the
/// cancellation of a sum of squares (Chan, Golub and LeVeque 1983). The bits follow the order.
struct Moments {
  std::size_t count = 0;
  double mean_of_these = 0, squares = 0;  ///< squares: of the deviations from the mean, their sum

  void add(double value) {
    const double away = value - mean_of_these;
    mean_of_these += away / double(++count);
    squares += away * (value - mean_of_these);
  }
  void add(const Moments& other);
  /// NaN where there is no number, as the deviation.
  double mean() const { return count ? mean_of_these : std::numeric_limits<double>::quiet_NaN(); }
  /// Over all of them, not of a sample: divided by count.
  double deviation() const;
};

/// Linear between the two nearest ranks, as numpy.percentile. Reorders the values; NaN where there
/// are none.
double percentile(std::vector<double>& values, double percent);

}  // namespace freeflow
