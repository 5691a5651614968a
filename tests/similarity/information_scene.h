// Two images, a displacement between them, and the information measures of the pair in double, one
// voxel changed at a time.
#pragma once

#include <memory>

#include <freeflow/similarity/mutual_information.h>

#include "reference/intensity_range.h"
#include "reference/joint_density.h"
#include "reference/tricubic.h"
#include "reference/trilinear.h"
#include "similarity/pair_scene.h"

namespace freeflow::test {

/// A pair of images with the ranges of their bins, sampled trilinearly or by a spline. The images
/// are clipped to them, so that clipping commutes with interpolation.
struct Scene : PairScene {
  reference::Range f_range, m_range;
  std::shared_ptr<const reference::Tricubic>
      cubic;  ///< how the moving image is sampled; null: trilinear

  Scene() : f_range(reference::clip_tails(f)), m_range(reference::clip_tails(m)) {}

  double sample(const Eigen::Vector3d& p) const {
    return cubic ? (*cubic)(p) : reference::trilinear({moving.extent, m}, p);
  }
  double warped(std::size_t i, const Eigen::Vector3d& extra) const {
    return sample(position(i, extra));
  }
};

/// The oracle's energy with one voxel displaced a little more.
class InformationOracle {
 public:
  InformationOracle(const Scene& s, const MutualInformationOptions& o)
      : s_(s), o_(o), density_(o.fixed_bins, o.moving_bins) {
    for (float v : s.m) moving_in_bins_.push_back(in_bins(v));
    for (std::size_t i = 0; i < s.f.size(); ++i) {
      fixed_.push_back(std::isfinite(s.f[i]) ? int(fixed_in_bins(i) + 0.5) : -1);
      add(density_, i, s.position(i), 1);
    }
  }
  reference::JointDensity::Entropies entropies() const { return density_.entropies(); }
  double cost() const { return cost_of(density_); }
  /// With windows of the fixed axis about the intensity itself, which parzen_both has about its
  /// bin.
  double cost_of_true_windows() const {
    reference::JointDensity density(o_.fixed_bins, o_.moving_bins);
    for (std::size_t i = 0; i < s_.f.size(); ++i)
      if (const double v = s_.sample(s_.position(i)); fixed_[i] >= 0 && !std::isnan(v))
        density.add_windows(fixed_in_bins(i), in_bins(v));
    return cost_of(density);
  }
  double cost_with(std::size_t i, const Eigen::Vector3d& extra) const {
    reference::JointDensity changed = density_;
    add(changed, i, s_.position(i), -1);
    add(changed, i, s_.position(i, extra), 1);
    return cost_of(changed);
  }
  /// With the warped intensity of one voxel changed.
  double cost_with_intensity(std::size_t i, double change) const {
    reference::JointDensity changed = density_;
    const double value = s_.warped(i, Eigen::Vector3d::Zero());
    changed.add_window(fixed_[i], in_bins(value), o_.estimator == Estimator::parzen_both, -1);
    changed.add_window(fixed_[i], in_bins(value + change), o_.estimator == Estimator::parzen_both,
                       1);
    return cost_of(changed);
  }

 private:
  double cost_of(const reference::JointDensity& density) const {
    const auto h = density.entropies();
    return o_.measure == Information::nmi                  ? -h.nmi()
           : o_.measure == Information::mi                 ? -h.mi()
           : o_.measure == Information::conditional_moving ? h.joint - h.fixed
                                                           : h.joint - h.moving;
  }
  double fixed_in_bins(std::size_t i) const {
    return std::clamp(s_.f_range.share(s_.f[i]), 0.0, 1.0) * (o_.fixed_bins - 1);
  }
  /// The library clips intensities at the voxels, before interpolating; the scene's moving image is
  /// clipped when it is made. What a spline overshoots is clipped here.
  double in_bins(double v) const {
    return 1 + std::clamp(s_.m_range.share(v), 0.0, 1.0) * (o_.moving_bins - 3);
  }
  void add(reference::JointDensity& density, std::size_t i, const Eigen::Vector3d& p,
           double times) const {
    const double value = s_.sample(p);
    if (fixed_[i] < 0 || std::isnan(value)) return;
    if (o_.estimator == Estimator::hard)
      density.add(fixed_[i], int(in_bins(value) + 0.5), times);
    else if (o_.estimator != Estimator::partial_volume)
      density.add_window(fixed_[i], in_bins(value), o_.estimator == Estimator::parzen_both, times);
    else
      add_neighbours(density, fixed_[i], p, times);
  }
  void add_neighbours(reference::JointDensity& density, int f, const Eigen::Vector3d& p,
                      double times) const {
    const Extent n = s_.moving.extent;
    const Eigen::Vector3d q =
        p.cwiseMax(Eigen::Vector3d::Zero()).cwiseMin(Eigen::Vector3d(n.x - 1, n.y - 1, n.z - 1));
    const int low[3] = {std::min(int(q.x()), n.x - 2), std::min(int(q.y()), n.y - 2),
                        std::min(int(q.z()), n.z - 2)};
    for (int k = 0; k < 8; ++k) {
      const int x = low[0] + (k & 1), y = low[1] + (k >> 1 & 1), z = low[2] + (k >> 2);
      const double w =
          (1 - std::abs(q.x() - x)) * (1 - std::abs(q.y() - y)) * (1 - std::abs(q.z() - z));
      density.add(f, int(moving_in_bins_[(std::size_t(z) * n.y + y) * n.x + x] + 0.5), times * w);
    }
  }
  const Scene& s_;
  MutualInformationOptions o_;
  reference::JointDensity density_;
  std::vector<int> fixed_;
  std::vector<double> moving_in_bins_;
};

/// |force + dE/du| / |dE/du| over every 17th voxel.
template <class Oracle>
double relative_force_error(const Scene& s, Oracle& oracle, const std::vector<float>& force) {
  const std::size_t n = s.fixed.extent.count();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < n; i += 17)
    for (int c = 0; c < 3; ++c) {
      const Eigen::Vector3d h = 1e-4 * Eigen::Vector3d::Unit(c);
      const double up = s.warped(i, h), down = s.warped(i, -h);
      if (std::isnan(up) || std::isnan(down)) continue;
      const double derivative = (oracle.cost_with(i, h) - oracle.cost_with(i, -h)) / 2e-4;
      error += std::pow(derivative + force[i + c * n], 2);
      norm += derivative * derivative;
    }
  return std::sqrt(error / norm);
}

}  // namespace freeflow::test
