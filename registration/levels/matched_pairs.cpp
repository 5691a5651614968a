#include <freeflow/registration/levels/matched_pairs.h>

#include <cmath>
#include <utility>

#include <Eigen/LU>

#include <freeflow/deform/field_algebra.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

Eigen::Vector3d blur_to_match(const PointMap& fixed_to_moving) {
  constexpr double alike = 1.25;
  Eigen::Matrix3d there;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) there(a, b) = fixed_to_moving.m[a][b];
  const Eigen::Matrix3d sides = there.inverse();  // of a moving voxel, in fixed ones
  Eigen::Vector3d sigma = Eigen::Vector3d::Zero();
  for (int a = 0; a < 3; ++a) {
    const double covered = sides.row(a).squaredNorm();
    if (covered > alike * alike) sigma[a] = std::sqrt((covered - 1) / 12);
  }
  return sigma;
}

namespace {

/// A slab is blurred no farther than across itself: of a wider window too little would lie on it.
Volume<float> smoothed(Context& ctx, const Volume<float>& image, const Eigen::Vector3d& wanted) {
  const Extent n = image.extent();
  const Eigen::Vector3d sigma = wanted.cwiseMin(Eigen::Vector3d(n.x, n.y, n.z));
  // Plus nothing, which is NaN where the image is.
  return linear_combination(ctx, 1, gaussian(ctx, image, sigma), 0, image);
}

}  // namespace

MatchedPairs::MatchedPairs(Context& ctx, std::vector<ImagePair> pairs,
                           const PointMap& fixed_to_moving)
    : pairs_(std::move(pairs)) {
  const Eigen::Vector3d sigma = blur_to_match(fixed_to_moving);
  if (sigma.isZero(0)) return;
  smoothed_.reserve(pairs_.size());
  std::vector<ImagePair> matched;
  for (const ImagePair& pair : pairs_) {
    smoothed_.push_back(smoothed(ctx, pair.fixed, sigma));
    matched.push_back({smoothed_.back(), pair.moving, pair.fixed_to_moving});
  }
  pairs_.swap(matched);
}

}  // namespace freeflow
