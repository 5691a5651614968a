#include <freeflow/registration/linear/affine_gradient.h>

#include <Eigen/LU>

#include <freeflow/registration/linear/affine_gradient_body.h>

namespace freeflow {

AffineGradient::AffineGradient(Context& ctx, Extent extent)
    : extent_(extent), rows_(ctx, ForceRowBody::terms * std::size_t(extent.y) * extent.z),
      work_(ctx, std::size_t(extent.y) * extent.z, terms) {}

void AffineGradient::moments(Context& ctx, FieldView<const float> force, double* moments) const {
  reduce_rows(ctx, extent_, ForceRowBody{force.data, extent_.count()}, rows_.data());
  reduce(ctx, std::size_t(extent_.y) * extent_.z, terms, ForceMomentBody{{}, rows_.data(), extent_},
         work_, moments);
}

Eigen::Matrix<double, 3, 4> world_gradient(const double* moments, const Geometry& fixed,
                                           const Eigen::Affine3d& world, const Geometry& moving) {
  const Eigen::Affine3d to_fixed = fixed.index_to_world(), to_moving = moving.world_to_index();
  const Eigen::Matrix3d map = to_moving.linear() * world.linear() * to_fixed.linear();
  const Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>> force(moments);
  const Eigen::Matrix<double, 3, 4> by_map = -map.transpose().inverse() * force;
  return to_moving.linear().transpose() * by_map * to_fixed.matrix().transpose();
}

}  // namespace freeflow
