// Private: where small blocks of the fixed image lie in the warped moving image: for each the
// offset of the largest squared correlation (so a reversed contrast does as well; Ourselin 2001),
// to a fraction of a voxel by parabolas.
#pragma once

#include <vector>

#include <Eigen/Geometry>

#include <freeflow/core/volume.h>
#include <freeflow/registration/linear/block_matching_body.h>

namespace freeflow {

/// A point of the fixed space (mm), where it was found before the transform (fixed space too), and
/// how well.
struct PointMatch {
  Eigen::Vector3d fixed, found;
  double correlation;  ///< squared
  double weight = 1;   ///< in a fit
};

class BlockMatching {
 public:
  /// Overlapping blocks of 4x4x4 voxels, those with structure. Keeps references to the two images.
  /// Waits; nothing later allocates device memory. An image thinner than a block has none.
  BlockMatching(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving);

  /// Appends the blocks found within 3 voxels of where the world transform takes them, which count
  /// by `weight` in a fit. Waits once.
  void match(Context& ctx, const Eigen::Affine3d& world, double weight,
             std::vector<PointMatch>& all);
  std::size_t blocks() const { return corners_.size() / 3; }

 private:
  const Volume<float>&fixed_, &moving_;
  float least_variation_ = 0;
  std::vector<int> corners_;
  Buffer<int> device_corners_;
  Buffer<BlockMatch> matches_;
  Volume<float> warped_;
  std::vector<Eigen::Vector3d> centres_;  // of the blocks, in voxels
  std::vector<BlockMatch> found_;
};

}  // namespace freeflow
