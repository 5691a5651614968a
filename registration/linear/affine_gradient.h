// Private: from a force per voxel to the gradient with respect to a linear map: deterministic first
// moments of the force.
#pragma once

#include <Eigen/Core>

#include <freeflow/core/buffer.h>
#include <freeflow/core/geometry.h>
#include <freeflow/core/reduce.h>

namespace freeflow {

/// Sums over voxels of force_c(x) * (x, y, z, 1)_k; scratch for one grid. Never allocates after
/// construction.
class AffineGradient {
 public:
  static constexpr int terms = 12;

  AffineGradient() = default;
  AffineGradient(Context& ctx, Extent extent);

  /// moments[4 c + k], device memory, double. Does not wait.
  void moments(Context& ctx, FieldView<const float> force, double* moments) const;

 private:
  Extent extent_;
  Buffer<double> rows_;
  ReduceWorkspace work_;
};

/// d cost / d world, 3x4, from the moments of the force -d cost / du(x) of a cost of moving(M (x +
/// u(x))), where M is index_map(fixed, world, moving). The force comes before the map: force =
/// -M_linear^T d cost / d(M x).
Eigen::Matrix<double, 3, 4> world_gradient(const double* moments, const Geometry& fixed,
                                           const Eigen::Affine3d& world, const Geometry& moving);

}  // namespace freeflow
