#include <freeflow/deform/affine_algebra.h>

#include <unsupported/Eigen/MatrixFunctions>

#include <freeflow/core/error.h>

namespace freeflow {

namespace {

// In doubles Eigen takes several at a time, and which ones go together follows from where on the
// stack a matrix happens to lie: the last bits with it.
using Matrix4 = Eigen::Matrix<long double, 4, 4>;

}  // namespace

Eigen::Matrix4d affine_logarithm(const Eigen::Affine3d& affine) {
  const Eigen::Matrix3d linear = affine.linear();
  require(affine.matrix().allFinite() && linear.determinant() > 1e-12,
          "an affine that mirrors or is singular has no logarithm");
  // The principal logarithm exists unless an eigenvalue lies on the closed negative real axis.
  for (const std::complex<double>& e : linear.eigenvalues())
    require(!(e.real() < 0 && std::abs(e.imag()) < 1e-9 * std::abs(e)),
            "an affine that turns by 180 degrees has no logarithm");
  const Matrix4 matrix = affine.matrix().cast<long double>();
  return Matrix4(matrix.log()).cast<double>();
}

Eigen::Affine3d affine_exponential(const Eigen::Matrix4d& logarithm) {
  Eigen::Affine3d affine;
  const Matrix4 matrix = logarithm.cast<long double>();
  affine.matrix() = Matrix4(matrix.exp()).cast<double>();
  affine.makeAffine();
  return affine;
}

Eigen::Affine3d log_mean(std::span<const Eigen::Affine3d> affines) {
  require(!affines.empty(), "there are no affines to average");
  Eigen::Matrix4d sum = Eigen::Matrix4d::Zero();
  for (const Eigen::Affine3d& a : affines) sum += affine_logarithm(a);
  return affine_exponential(sum / double(affines.size()));
}

}  // namespace freeflow
