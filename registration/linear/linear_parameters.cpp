#include <freeflow/registration/linear/linear_parameters.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>

#include <freeflow/core/error.h>

namespace freeflow {

std::optional<LinearModel> parse_degrees_of_freedom(int dof) {
  for (const LinearModel model :
       {LinearModel::rigid, LinearModel::similarity, LinearModel::scaled, LinearModel::affine})
    if (int(model) == dof) return model;
  return std::nullopt;
}

std::optional<LinearModel> parse_linear_model(std::string_view name) {
  if (name == "rigid") return LinearModel::rigid;
  if (name == "similarity") return LinearModel::similarity;
  if (name == "affine") return LinearModel::affine;
  return std::nullopt;
}

Eigen::Vector3d LinearDecomposition::euler_degrees() const {
  const Eigen::Matrix3d& r = rotation;
  const double y = std::asin(std::clamp(-r(2, 0), -1.0, 1.0));
  return Eigen::Vector3d(std::atan2(r(2, 1), r(2, 2)), y, std::atan2(r(1, 0), r(0, 0))) *
         (180 / EIGEN_PI);
}

LinearDecomposition decompose(const Eigen::Affine3d& affine, const Eigen::Vector3d& center) {
  const Eigen::Matrix3d a = affine.linear();
  require(affine.matrix().allFinite() && a.determinant() > 1e-6,
          "a linear transform must be invertible and must not mirror");
  const Eigen::HouseholderQR<Eigen::Matrix3d> qr(a);
  Eigen::Matrix3d q = qr.householderQ(), u = qr.matrixQR().triangularView<Eigen::Upper>();
  for (int i = 0; i < 3; ++i)
    if (u(i, i) < 0) {
      u.row(i) *= -1;
      q.col(i) *= -1;
    }
  LinearDecomposition parts;
  parts.rotation = q;
  parts.scale = u.diagonal();
  parts.skew = {u(0, 1) / u(1, 1), u(0, 2) / u(2, 2), u(1, 2) / u(2, 2)};
  parts.translation = affine * center - center;
  return parts;
}

Eigen::Affine3d compose(const LinearDecomposition& parts, const Eigen::Vector3d& center) {
  Eigen::Matrix3d skew = Eigen::Matrix3d::Identity();
  skew(0, 1) = parts.skew[0];
  skew(0, 2) = parts.skew[1];
  skew(1, 2) = parts.skew[2];
  Eigen::Affine3d affine;
  affine.linear() = parts.rotation * skew * parts.scale.asDiagonal();
  affine.translation() = center + parts.translation - affine.linear() * center;
  affine.makeAffine();
  return affine;
}

LinearParameters::LinearParameters(LinearModel model, const Eigen::Vector3d& center,
                                   double radius_mm, const Eigen::Affine3d& start, NotFree not_free)
    : model_(model), center_(center), radius_(radius_mm),
      start_(Eigen::VectorXd::Zero(int(model))) {
  const LinearDecomposition parts = decompose(start, center);
  base_.rotation = parts.rotation;
  start_.segment<3>(3) = parts.translation;
  const Eigen::Vector3d log_scale = parts.scale.array().log();
  const double mean = model == LinearModel::similarity ? log_scale.mean() : 0;
  const bool held = not_free == NotFree::held;
  if (model == LinearModel::similarity) start_[6] = radius_ * mean;
  if (count() >= int(LinearModel::scaled)) {
    start_.segment<3>(6) = radius_ * log_scale;
  } else if (held) {
    base_.scale = (log_scale.array() - mean).exp();
  }
  if (model == LinearModel::affine) {
    start_.segment<3>(9) = radius_ * parts.skew;
  } else if (held) {
    base_.skew = parts.skew;
  }
}

Eigen::Affine3d LinearParameters::affine(const Eigen::VectorXd& p) const {
  LinearDecomposition parts = base_;
  const Eigen::Vector3d w = p.head<3>() / radius_;
  const double angle = w.norm();
  if (angle > 0) parts.rotation *= Eigen::AngleAxisd(angle, w / angle).toRotationMatrix();
  parts.translation = p.segment<3>(3);
  if (model_ == LinearModel::similarity) parts.scale *= std::exp(p[6] / radius_);
  if (count() >= int(LinearModel::scaled)) parts.scale = (p.segment<3>(6) / radius_).array().exp();
  if (model_ == LinearModel::affine) parts.skew = p.segment<3>(9) / radius_;
  return compose(parts, center_);
}

LinearJacobian LinearParameters::jacobian(const Eigen::VectorXd& p) const {
  // Central differences of a smooth function in double: exact to about 1e-9, and no formula to keep
  // in step with affine().
  const double h = 1e-5 * radius_;
  LinearJacobian result(12, count());
  for (int i = 0; i < count(); ++i) {
    Eigen::VectorXd q = p;
    q[i] = p[i] + h;
    const Eigen::Affine3d after = affine(q);
    q[i] = p[i] - h;
    const Eigen::Matrix<double, 3, 4, Eigen::RowMajor> slope =
        (after.matrix() - affine(q).matrix()).topRows<3>() / (2 * h);
    result.col(i) = Eigen::Map<const Eigen::Matrix<double, 12, 1>>(slope.data());
  }
  return result;
}

}  // namespace freeflow
