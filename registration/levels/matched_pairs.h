// Private: fixed images that are no sharper than the moving ones that they are compared with.
#pragma once

#include <vector>

#include <Eigen/Core>

#include <freeflow/similarity/image_pair.h>

namespace freeflow {

/// The Gaussian, standard deviations in voxels along the axes of a level of the fixed image, that
/// takes voxels for what they are, means over boxes, from its size to that of the moving image's
/// own: of moving voxels that cover q of it along an axis (q^2 - 1) / 12, the difference of the
/// boxes' variances. 0 where q is at most 1.25. `fixed_to_moving`: to voxels of the moving image as
/// it came.
Eigen::Vector3d blur_to_match(const PointMap& fixed_to_moving);

/// The pairs of a level, its fixed images smoothed by that; voxels without a value have none then
/// either. What an image shows beyond the other's voxels, a local measure takes for deformation.
class MatchedPairs {
 public:
  /// The images of `pairs` must outlive this. `fixed_to_moving`, as above, says how they lie as far
  /// as that is known.
  MatchedPairs(Context& ctx, std::vector<ImagePair> pairs, const PointMap& fixed_to_moving);
  const std::vector<ImagePair>& pairs() const { return pairs_; }

 private:
  std::vector<Volume<float>> smoothed_;  ///< none where nothing has to be
  std::vector<ImagePair> pairs_;
};

}  // namespace freeflow
