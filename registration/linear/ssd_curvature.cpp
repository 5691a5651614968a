#include <freeflow/registration/linear/ssd_curvature.h>

#include <Eigen/LU>
#include <array>

#include <freeflow/core/volume.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/linear/ssd_curvature_body.h>

namespace freeflow {

SsdCurvature::SsdCurvature(Context& ctx, Extent extent)
    : extent_(extent), planes_(ctx, 4 * extent.count()),
      rows_(ctx, GradientRowBody::terms * std::size_t(extent.y) * extent.z),
      sums_(ctx, GradientMomentBody::terms),
      work_(ctx, std::size_t(extent.y) * extent.z, GradientMomentBody::terms) {}

Eigen::MatrixXd SsdCurvature::evaluate(Context& ctx, const Volume<float>& fixed,
                                       const Volume<float>& moving, const Eigen::Affine3d& world,
                                       const LinearJacobian& by_parameters, double cost) {
  const std::size_t n = extent_.count();
  const VolumeView<float> warped{planes_.data(), extent_};
  const FieldView<float> gradient{planes_.data() + n, extent_};
  warp_with_gradient(ctx, moving.view(), index_map(fixed.geometry(), world, moving.geometry()),
                     {nullptr, extent_}, warped, gradient);
  reduce_rows(ctx, extent_, GradientRowBody{fixed.view().data, warped.data, gradient.data, n},
              rows_.data());
  reduce(ctx, std::size_t(extent_.y) * extent_.z, GradientMomentBody::terms,
         GradientMomentBody{{}, rows_.data(), extent_}, work_, sums_.data());
  std::array<double, GradientMomentBody::terms> sums{};
  ctx.copy_to_host(sums.data(), sums_.data(), sizeof sums);

  // In B with du(x) = B (x, 1), the displacement before the map: 12 entries, row by row.
  constexpr int coordinates[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
  constexpr int pairs[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  Eigen::Matrix<double, 12, 12> normal;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 4; ++k)
          normal(4 * a + j, 4 * b + k) = sums[std::size_t(10 * pairs[a][b] + coordinates[j][k])];
  const Eigen::Affine3d to_fixed = fixed.geometry().index_to_world();
  const Eigen::Matrix3d back = (world.linear() * to_fixed.linear()).inverse();
  Eigen::MatrixXd by_displacement(12, by_parameters.cols());
  for (Eigen::Index p = 0; p < by_parameters.cols(); ++p) {
    const Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>> change(
        by_parameters.col(p).data());
    const Eigen::Matrix<double, 3, 4, Eigen::RowMajor> b = back * change * to_fixed.matrix();
    by_displacement.col(p) = Eigen::Map<const Eigen::Matrix<double, 12, 1>>(b.data());
  }
  return by_displacement.transpose() * normal * by_displacement *
         (sums[60] > 0 ? 2 * cost / sums[60] : 0.0);
}

}  // namespace freeflow
