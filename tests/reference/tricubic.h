// The interpolating cubic B-spline in double: dense solves for its coefficients, mirrored at the
// border; written without looking at deform/warp_body.h.
#pragma once

#include <Eigen/LU>

#include "reference/joint_density.h"
#include "reference/trilinear.h"

namespace freeflow::reference {

class Tricubic {
 public:
  explicit Tricubic(const Image& image) : extent_(image.extent) {
    const int n[3] = {extent_.x, extent_.y, extent_.z}, stride[3] = {1, n[0], n[0] * n[1]};
    coefficients_ = Eigen::VectorXd(n[0] * n[1] * n[2]);
    for (Eigen::Index i = 0; i < coefficients_.size(); ++i)
      coefficients_[i] = image.voxels[std::size_t(i)];
    for (int axis = 0; axis < 3; ++axis) {
      // row: value at a voxel from the coefficients
      Eigen::MatrixXd spline = Eigen::MatrixXd::Zero(n[axis], n[axis]);
      for (int row = 0; row < n[axis]; ++row)
        for (int k = row - 1; k <= row + 1; ++k)
          spline(row, mirrored(k, n[axis])) += cubic_window(row - k);
      const Eigen::PartialPivLU<Eigen::MatrixXd> solver(spline);
      for (int i = 0; i < coefficients_.size(); ++i)
        if (i / stride[axis] % n[axis] == 0) {
          Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> line(
              coefficients_.data() + i, n[axis], Eigen::InnerStride<>(stride[axis]));
          line = solver.solve(Eigen::VectorXd(line)).eval();
        }
    }
  }

  /// NaN farther than half a voxel from the grid; the nearest edge value within.
  double operator()(const Eigen::Vector3d& p) const {
    double c[3];
    for (int a = 0; a < 3; ++a) {
      if (!(p[a] >= -0.5 && p[a] <= extent_[a] - 0.5))
        return std::numeric_limits<double>::quiet_NaN();
      c[a] = std::clamp(p[a], 0.0, double(extent_[a] - 1));
    }
    const int x = int(c[0]), y = int(c[1]), z = int(c[2]);
    double sum = 0;
    for (int k = z - 1; k <= z + 2; ++k)
      for (int j = y - 1; j <= y + 2; ++j)
        for (int i = x - 1; i <= x + 2; ++i) {
          const int at = (mirrored(k, extent_.z) * extent_.y + mirrored(j, extent_.y)) * extent_.x +
                         mirrored(i, extent_.x);
          sum += cubic_window(c[0] - i) * cubic_window(c[1] - j) * cubic_window(c[2] - k) *
                 coefficients_[at];
        }
    return sum;
  }

 private:
  /// The coefficient that stands for number i beyond the border.
  static int mirrored(int i, int n) {
    while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * n - 2 - i;
    return n > 1 ? i : 0;
  }
  Extent extent_;
  Eigen::VectorXd coefficients_;
};

}  // namespace freeflow::reference
