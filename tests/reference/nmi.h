// Normalised mutual information in double with unquantised cubic Parzen windows, straight from the definition.
#pragma once

#include <cmath>
#include <vector>

namespace freeflow::reference {

inline double cubic_window(double x) {
  x = std::abs(x);
  return x < 1 ? 2.0 / 3 - x * x + x * x * x / 2 : x < 2 ? std::pow(2 - x, 3) / 6 : 0.0;
}

/// fixed: hard bins, negative for none; moving: continuous bins, NaN for none.
inline double nmi(const std::vector<int>& fixed, const std::vector<double>& moving, int bins) {
  std::vector<double> p(std::size_t(bins) * bins), pf(bins), pm(bins);
  double n = 0;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] < 0 || std::isnan(moving[i])) continue;
    n += 1;
    for (int m = 0; m < bins; ++m) p[std::size_t(fixed[i]) * bins + m] += cubic_window(moving[i] - m);
  }
  for (int f = 0; f < bins; ++f)
    for (int m = 0; m < bins; ++m) {
      p[std::size_t(f) * bins + m] /= n;
      pf[f] += p[std::size_t(f) * bins + m];
      pm[m] += p[std::size_t(f) * bins + m];
    }
  const auto entropy = [](const std::vector<double>& q) {
    double h = 0;
    for (double v : q)
      if (v > 0) h -= v * std::log(v);
    return h;
  };
  return (entropy(pf) + entropy(pm)) / entropy(p);
}

}  // namespace freeflow::reference
