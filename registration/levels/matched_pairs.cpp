#include <freeflow/registration/levels/matched_pairs.h>

#include <cmath>
#include <utility>

#include <freeflow/deform/field_algebra.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

Eigen::Vector3d blur_to_match(const PointMap& fixed_to_moving) {
  constexpr double alike = 1.25;
  Eigen::Vector3d sigma = Eigen::Vector3d::Zero();
  for (int a = 0; a < 3; ++a) {
    Eigen::Vector3d step;  // in moving voxels, of one fixed voxel
    for (int b = 0; b < 3; ++b) step[b] = fixed_to_moving.m[b][a];
    const double larger = 1 / step.norm();
    if (larger > alike) sigma[a] = std::sqrt((larger * larger - 1) / 12);
  }
  return sigma;
}

namespace {

Volume<float> smoothed(Context& ctx, const Volume<float>& image, const Eigen::Vector3d& sigma) {
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
