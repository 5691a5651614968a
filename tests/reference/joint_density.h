// The joint density of two images in double, with unquantised weights, straight from the
// definitions; and its entropies.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace freeflow::reference {

inline double cubic_window(double x) {
  x = std::abs(x);
  return x < 1 ? 2.0 / 3 - x * x + x * x * x / 2 : x < 2 ? std::pow(2 - x, 3) / 6 : 0.0;
}

class JointDensity {
 public:
  JointDensity(int fixed_bins, int moving_bins)
      : nf_(fixed_bins), nm_(moving_bins), p_(std::size_t(fixed_bins) * moving_bins) {}

  void add(int f, int m, double weight) { p_[std::size_t(f) * nm_ + m] += weight; }
  /// A voxel with a cubic window over the moving axis, and over the fixed one if wanted (what would
  /// leave it stays in its last bin).
  void add_window(int f, double m, bool both, double times = 1) {
    for (int j = -1; j <= 1; ++j) {
      const double wf = both ? (j == 0 ? 4.0 : 1.0) / 6 : j == 0 ? 1.0 : 0.0;
      for (int k = 0; k < nm_ && wf > 0; ++k)
        add(std::clamp(f + j, 0, nf_ - 1), k, times * wf * cubic_window(m - k));
    }
  }

  /// A voxel with a cubic window over both axes, each about the very position.
  void add_windows(double f, double m) {
    for (int j = int(f) - 1; j <= int(f) + 2; ++j)
      for (int k = 0; k < nm_; ++k)
        add(std::clamp(j, 0, nf_ - 1), k, cubic_window(f - j) * cubic_window(m - k));
  }

  struct Entropies {
    double fixed, moving, joint;
    double nmi() const { return (fixed + moving) / joint; }
    double mi() const { return fixed + moving - joint; }
  };
  Entropies entropies() const {
    std::vector<double> pf(nf_), pm(nm_);
    for (int f = 0; f < nf_; ++f)
      for (int m = 0; m < nm_; ++m) {
        pf[f] += p_[std::size_t(f) * nm_ + m];
        pm[m] += p_[std::size_t(f) * nm_ + m];
      }
    return {entropy(pf), entropy(pm), entropy(p_)};
  }
  const std::vector<double>& masses() const { return p_; }

 private:
  static double entropy(const std::vector<double>& q) {
    double n = 0, h = 0;
    for (double v : q) n += v;
    for (double v : q)
      if (v > 1e-13) h -= v / n * std::log(v / n);
    return h;
  }
  int nf_, nm_;
  std::vector<double> p_;
};

}  // namespace freeflow::reference
