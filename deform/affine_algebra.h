// Affines in the logarithmic domain, where their mean does not shrink what they turn (Alexa 2002;
// Arsigny 2006). Host only, double; compiled in the library, for Eigen's matrix functions cost
// whoever includes them twenty seconds.
#pragma once

#include <span>

#include <Eigen/Geometry>

namespace freeflow {

/// The principal logarithm of the 4x4 matrix. Throws InvalidArgument where there is none: a
/// reflection, a singular matrix, a turn by 180 degrees.
Eigen::Matrix4d affine_logarithm(const Eigen::Affine3d& affine);
Eigen::Affine3d affine_exponential(const Eigen::Matrix4d& logarithm);

/// exp(mean of log A_i). Throws InvalidArgument for none, and as affine_logarithm.
Eigen::Affine3d log_mean(std::span<const Eigen::Affine3d> affines);

}  // namespace freeflow
