// Local normalised cross-correlation in double, straight from the definition: every window summed
// voxel by voxel.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include <freeflow/core/views.h>

namespace freeflow::reference {

/// weights[i][j]: how much voxel j counts in the window about i, along one axis: a box of the
/// radius, `boxes` times in a row.
inline std::vector<std::vector<double>> window_weights(int n, int radius, int boxes) {
  std::vector<std::vector<double>> w(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) w[i][i] = 1;
  for (int b = 0; b < boxes; ++b) {
    std::vector<std::vector<double>> next(n, std::vector<double>(n));
    for (int i = 0; i < n; ++i)
      for (int k = std::max(0, i - radius); k <= std::min(n - 1, i + radius); ++k)
        for (int j = 0; j < n; ++j) next[i][j] += w[k][j];
    w = next;
  }
  return w;
}

/// The cost, and the cost with one voxel of the moving image changed. Voxels are NaN where an image
/// has no value.
class Lncc {
 public:
  Lncc(Extent extent, std::vector<double> fixed, std::vector<double> moving, int radius, int boxes,
       double epsilon)
      : n_(extent), f_(std::move(fixed)), m_(std::move(moving)), e_(epsilon * epsilon),
        sums_(f_.size()), value_(f_.size()) {
    for (int axis = 0; axis < 3; ++axis) w_[axis] = window_weights(n_[axis], radius, boxes);
    for (std::size_t y = 0; y < f_.size(); ++y)
      if (counts(y))
        for_windows(y, [&](std::size_t x, double w) {
          const std::array<double, 6> terms{
              1, f_[y], m_[y], f_[y] * f_[y], m_[y] * m_[y], f_[y] * m_[y]};
          for (int k = 0; k < 6; ++k) sums_[x][k] += w * terms[k];
        });
    for (std::size_t x = 0; x < f_.size(); ++x) {
      if (!counts(x)) continue;
      total_ += value_[x] = lncc(sums_[x]);
      voxels_ += 1;
    }
  }
  bool counts(std::size_t i) const { return !std::isnan(f_[i]) && !std::isnan(m_[i]); }
  double value(std::size_t i) const { return value_[i]; }
  double cost() const { return -total_ / voxels_; }
  double cost_with(std::size_t y, double m) const {
    double total = total_;
    for_windows(y, [&](std::size_t x, double w) {
      if (!counts(x)) return;
      std::array<double, 6> s = sums_[x];
      s[2] += w * (m - m_[y]);
      s[4] += w * (m * m - m_[y] * m_[y]);
      s[5] += w * f_[y] * (m - m_[y]);
      total += lncc(s) - value_[x];
    });
    return -total / voxels_;
  }

 private:
  double lncc(const std::array<double, 6>& s) const {
    const double f = s[1] / s[0], m = s[2] / s[0], a = s[5] / s[0] - f * m;
    return a * a / ((s[3] / s[0] - f * f + e_) * (s[4] / s[0] - m * m + e_));
  }
  template <class Use>
  void for_windows(std::size_t y, const Use& use) const {
    const int yx = int(y % n_.x), yy = int(y / n_.x % n_.y),
              yz = int(y / (std::size_t(n_.x) * n_.y));
    std::size_t x = 0;
    for (int k = 0; k < n_.z; ++k)
      for (int j = 0; j < n_.y; ++j)
        for (int i = 0; i < n_.x; ++i, ++x)
          if (const double w = w_[0][i][yx] * w_[1][j][yy] * w_[2][k][yz]; w > 0) use(x, w);
  }

  Extent n_;
  std::vector<double> f_, m_;
  double e_, total_ = 0, voxels_ = 0;
  std::vector<std::vector<double>> w_[3];
  std::vector<std::array<double, 6>> sums_;
  std::vector<double> value_;
};

}  // namespace freeflow::reference
