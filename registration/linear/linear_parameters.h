// Rigid, similarity, 9-parameter and affine transforms as vectors of well-scaled parameters.
//
// phi(x) = A (x - c) + c + t with A = R exp(w) K S: rotation vector w on top of a base rotation R
// (so no angle is near a singularity), unit upper triangular skew K, positive scales S. Every
// parameter is in millimetres: a unit step moves the edge of the head, `radius` away from the
// centre c, by about one millimetre. Host only, double.
#pragma once

#include <optional>
#include <string_view>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace freeflow {

/// Named by what is free; the value is the number of parameters.
enum class LinearModel {
  rigid = 6,       ///< rotation, translation
  similarity = 7,  ///< and one scale
  scaled = 9,      ///< and three scales, along the fixed image's world axes
  affine = 12      ///< and three skews
};
std::optional<LinearModel> parse_degrees_of_freedom(int dof);
/// "rigid", "similarity" or "affine", as --linear has them.
std::optional<LinearModel> parse_linear_model(std::string_view name);

/// phi(x) = rotation * skew * scale * (x - center) + center + translation.
struct LinearDecomposition {
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();  ///< mm, of the centre
  Eigen::Vector3d scale = Eigen::Vector3d::Ones();
  /// entries xy, xz, yz of the unit triangular matrix
  Eigen::Vector3d skew = Eigen::Vector3d::Zero();

  /// Rotation about the fixed x, then y, then z axis, degrees.
  Eigen::Vector3d euler_degrees() const;
};

/// The only decomposition of its form. Throws InvalidArgument when the affine mirrors or is
/// singular.
LinearDecomposition decompose(const Eigen::Affine3d& affine, const Eigen::Vector3d& center);
Eigen::Affine3d compose(const LinearDecomposition& parts, const Eigen::Vector3d& center);

/// Derivative of the twelve entries of a 3x4 affine, row by row, with respect to the parameters.
using LinearJacobian = Eigen::Matrix<double, 12, Eigen::Dynamic>;

/// What becomes of the scales and skews of a start that are not free in the model.
enum class NotFree {
  dropped,  ///< every transform is of the model
  held      ///< they stay as they are: a model of fewer parameters on the way to one of more
};

class LinearParameters {
 public:
  /// Parameters about `center` whose rotations start at that of `start`.
  LinearParameters(LinearModel model, const Eigen::Vector3d& center, double radius_mm,
                   const Eigen::Affine3d& start, NotFree not_free = NotFree::dropped);

  int count() const { return int(model_); }
  double radius_mm() const { return radius_; }
  /// The vector of `start`, or, where what is not free is dropped, of the transform of this model
  /// nearest to it.
  const Eigen::VectorXd& start() const { return start_; }
  Eigen::Affine3d affine(const Eigen::VectorXd& p) const;
  LinearJacobian jacobian(const Eigen::VectorXd& p) const;

 private:
  LinearModel model_;
  Eigen::Vector3d center_;
  double radius_;
  LinearDecomposition base_;  ///< what all transforms share: a rotation, and what is held
  Eigen::VectorXd start_;
};

}  // namespace freeflow
