// Private: the image pyramid of a linear registration, and where the object is.
#pragma once

#include <deque>
#include <vector>

#include <freeflow/registration/levels/image_channels.h>

namespace freeflow {

/// Centre of mass and size of what an image shows: intensities above the smallest, inside the mask.
struct ContentExtent {
  Eigen::Vector3d center;
  double radius_mm;       ///< of the ball with the same second moment: the head's edge
  double volume_mm3 = 0;  ///< of all voxels that have a value
};

/// One level; its images belong to the prepared images.
struct LinearLevel {
  const Volume<float>&fixed, &moving;  ///< of the first channel; NaN outside the masks
  PreparedImage::Steps fixed_steps, moving_steps;
  std::vector<ImagePair> channels;  ///< all, under the identity
};

class LinearLevels {
 public:
  /// Levels of about 8, 4, 2 and 1 mm for a head, in proportion for smaller or larger objects; at
  /// most `levels`, coarse to fine, and none finer than the images. Made from fine to coarse, each
  /// from the one before: a Gaussian of a Gaussian is a Gaussian.
  /// `initial` says how many millimetres of the moving image are one of the fixed image.
  LinearLevels(Context& ctx, PreparedImage& fixed, PreparedImage& moving, int levels,
               const Eigen::Affine3d& initial);

  int count() const { return int(levels_.size()); }
  const LinearLevel& operator[](int l) const { return levels_[std::size_t(l)]; }
  /// Distance of samples that the level aims at, mm.
  double spacing_mm(int l) const { return spacing_[std::size_t(l)]; }
  /// What a millimetre of a head is of this object, mm; a power of two.
  double unit_mm() const { return unit_mm_; }
  const ContentExtent& fixed_content() const { return fixed_content_; }
  const ContentExtent& moving_content() const { return moving_content_; }

 private:
  std::deque<LinearLevel> levels_;
  std::vector<double> spacing_;
  double unit_mm_ = 1;
  ContentExtent fixed_content_, moving_content_;
};

/// Of an image as it is, on the host; of one without contrast, an object half as wide as the grid
/// in its middle. Throws RegistrationError naming `what` when no voxel has a value.
ContentExtent content_extent(Context& ctx, const Volume<float>& image, const char* what);

/// The same by a look at few voxels. Throws RegistrationError naming `what`.
ContentExtent content_at_a_glance(Context& ctx, PreparedImage& image, const char* what);

}  // namespace freeflow
