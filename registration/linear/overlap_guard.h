// Private: keeps a linear search from shrinking the overlap. Statistics of a sliver of two images
// can look better than those of the right answer; so a transform that loses too much of the overlap
// that is known to be possible is refused.
#pragma once

#include <cstdint>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

class OverlapGuard {
 public:
  /// Reads the two images of a coarse level (NaN: outside the masks) once; then works on the host,
  /// on at most about 1000 of the fixed points.
  OverlapGuard(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving);

  /// Share of the fixed points whose nearest moving voxel has a value.
  double overlap(const Eigen::Affine3d& world) const;
  /// Raises what is known to be possible.
  void allow_for(double overlap) { best_ = best_ < overlap ? overlap : best_; }
  double smallest() const { return share * best_; }
  /// Of a descent from there, whatever else is possible.
  double smallest_from(const Eigen::Affine3d& world) const { return share * overlap(world); }
  /// Volume that was measured of the moving image, in parts of the fixed one's.
  double measured_ratio() const { return measured_ratio_; }
  /// Whether most of the moving image's grid has no value.
  bool moving_is_masked() const { return moving_is_masked_; }
  bool accepts(const Eigen::Affine3d& world) const { return overlap(world) >= smallest(); }

 private:
  static constexpr double share = 0.6;
  Geometry moving_;
  std::vector<double> points_[3];    // of the fixed image, world, an axis each
  std::vector<std::uint8_t> valid_;  // voxels of the moving image, and after them one outside
  double best_ = 0, measured_ratio_ = 0;
  bool moving_is_masked_ = false;
};

}  // namespace freeflow
