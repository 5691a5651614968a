// The self-similarity context in double, straight from Heinrich 2013: patch by patch and channel by
// channel, no plane shared and no window sum.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow::reference {

/// Channels of a voxel in [0, 1]; NaN: does not exist.
using MindChannels = std::array<double, 12>;

/// The two neighbours of every channel, as directions.
inline std::array<std::array<Eigen::Vector3i, 2>, 12> mind_pairs() {
  std::array<std::array<Eigen::Vector3i, 2>, 12> pairs;
  int k = 0;
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {1, 2}})
    for (const auto& [s, t] : {std::pair{1, 1}, {-1, -1}, {1, -1}, {-1, 1}})
      pairs[k++] = {Eigen::Vector3i(s * Eigen::Vector3i::Unit(a)),
                    Eigen::Vector3i(t * Eigen::Vector3i::Unit(b))};
  return pairs;
}

class Mind {
 public:
  /// Intensities in parts of their range; NaN where the image has no value.
  Mind(Extent extent, std::vector<double> image, int radius, int dilation)
      : n_(extent), image_(std::move(image)), radius_(radius), channels_(image_.size()) {
    double total = 0, number = 0;
    for (std::size_t i = 0; i < image_.size(); ++i) {
      const Eigen::Vector3i x = voxel(i);
      const auto pairs = mind_pairs();
      for (int k = 0; k < 12; ++k)
        channels_[i][k] = std::isnan(image_[i])
                              ? NAN
                              : distance(x + dilation * pairs[k][0], x + dilation * pairs[k][1]);
      if (const double v = mean(channels_[i]); !std::isnan(v)) {
        total += v;
        number += 1;
      }
    }
    const double typical = total / number;
    for (MindChannels& c : channels_) {
      const double v = std::clamp(mean(c), 0.001 * typical, 1000 * typical);
      double least = INFINITY;
      for (double d : c)
        if (d < least) least = d;
      for (double& d : c)
        if (!std::isnan(d)) d = v > 0 ? std::exp(-(d - least) / v) : 1;
    }
  }

  const MindChannels& at(std::size_t i) const { return channels_[i]; }

 private:
  Eigen::Vector3i voxel(std::size_t i) const {
    return {int(i % n_.x), int(i / n_.x % n_.y), int(i / (std::size_t(n_.x) * n_.y))};
  }
  double value(const Eigen::Vector3i& x) const {
    for (int a = 0; a < 3; ++a)
      if (x[a] < 0 || x[a] >= n_[a]) return NAN;
    return image_[n_.offset(x[0], x[1], x[2])];
  }
  double distance(const Eigen::Vector3i& a, const Eigen::Vector3i& b) const {
    if (std::isnan(value(a)) || std::isnan(value(b))) return NAN;
    double sum = 0, number = 0;
    for (int k = -radius_; k <= radius_; ++k)
      for (int j = -radius_; j <= radius_; ++j)
        for (int i = -radius_; i <= radius_; ++i) {
          const Eigen::Vector3i p(i, j, k);
          const double d = value(a + p) - value(b + p);
          if (std::isnan(d)) continue;
          sum += d * d;
          number += 1;
        }
    return sum / number;
  }
  static double mean(const MindChannels& c) {
    double sum = 0, number = 0;
    for (double d : c)
      if (!std::isnan(d)) {
        sum += d;
        number += 1;
      }
    return number > 0 ? sum / number : NAN;
  }

  Extent n_;
  std::vector<double> image_;
  int radius_;
  std::vector<MindChannels> channels_;
};

/// Channels between voxels: trilinear, NaN farther than half a voxel from the grid or where a voxel
/// of the cell has none.
inline MindChannels mind_at(const std::vector<MindChannels>& channels, Extent n,
                            const Eigen::Vector3d& p) {
  MindChannels out;
  out.fill(NAN);
  int low[3], step[3];
  double t[3];
  for (int a = 0; a < 3; ++a) {
    if (!(p[a] >= -0.5 && p[a] <= n[a] - 0.5)) return out;
    const double c = std::clamp(p[a], 0.0, double(n[a] - 1));
    low[a] = std::min(int(std::floor(c)), std::max(n[a] - 2, 0));
    step[a] = n[a] > 1 ? 1 : 0;
    t[a] = c - low[a];
  }
  out.fill(0);
  for (int corner = 0; corner < 8; ++corner) {
    double w = 1;
    int i[3];
    for (int a = 0; a < 3; ++a) {
      const int up = corner >> a & 1;
      w *= up ? t[a] : 1 - t[a];
      i[a] = low[a] + up * step[a];
    }
    for (int k = 0; k < 12; ++k) out[k] += w * channels[n.offset(i[0], i[1], i[2])][k];
  }
  return out;
}

}  // namespace freeflow::reference
