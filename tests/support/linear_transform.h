// Linear transforms by their parts.
#pragma once

#include <freeflow/registration/linear/linear_parameters.h>

namespace freeflow::test {

/// About the origin; the shift in mm. The rotation is about x first, then y, then z.
inline Eigen::Affine3d transform(const Eigen::Vector3d& euler_degrees, const Eigen::Vector3d& shift,
                                 const Eigen::Vector3d& scale = Eigen::Vector3d::Ones(),
                                 const Eigen::Vector3d& skew = Eigen::Vector3d::Zero()) {
  LinearDecomposition parts;
  const Eigen::Vector3d a = euler_degrees * EIGEN_PI / 180;
  parts.rotation = (Eigen::AngleAxisd(a.z(), Eigen::Vector3d::UnitZ()) *
                    Eigen::AngleAxisd(a.y(), Eigen::Vector3d::UnitY()) *
                    Eigen::AngleAxisd(a.x(), Eigen::Vector3d::UnitX()))
                       .toRotationMatrix();
  parts.translation = shift;
  parts.scale = scale;
  parts.skew = skew;
  return compose(parts, Eigen::Vector3d::Zero());
}

}  // namespace freeflow::test
