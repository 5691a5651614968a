// Private to atlas: what makes subjects' intensities comparable, and where a subject is.
#pragma once

#include <Eigen/Core>

#include <freeflow/atlas/subject.h>

namespace freeflow {

/// The mean of the foreground after normalisation.
inline constexpr float usual_intensity = 100;
/// No normalised value is beyond these.
inline constexpr float lowest_intensity = -200, highest_intensity = 1000;

/// Maps every channel linearly: the 0.1 % percentile of its finite voxels becomes 0 and the mean of
/// the foreground usual_intensity; then values are cut to lowest and highest_intensity. The
/// foreground are the mask's voxels, or without one those above an eighth of the mean of all above
/// the percentile (as SPM's global mean, spm_global.m). Throws RegistrationError that says how it
/// is `called` when a channel is constant.
void normalise_intensities(AtlasSubject& subject, const std::string& called = "the image");

/// Where the object is (mm, LPS): of normalised intensities above an eighth of the usual, inside
/// the mask.
struct ObjectMoments {
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  double radius_mm = 0;  ///< of a ball of the same trace of the covariance
};
ObjectMoments object_moments(const AtlasSubject& normalised);

}  // namespace freeflow
