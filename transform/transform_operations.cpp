#include <freeflow/transform/transform_operations.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/transform/transform_operations_body.h>

namespace freeflow {

DisplacementField compose(Context& ctx, const Transform& transform, const Geometry& grid) {
  grid.validate("the grid to compose on");
  DisplacementField out(ctx, grid);
  for_each_voxel(ctx, grid.extent,
                 ComposeChainBody{chain_point(ctx, transform, grid, grid), out.view()});
  return out;
}

InverseTransform invert(Context& ctx, const Transform& transform, const StopRequest& stop) {
  const auto inverted = [](const Eigen::Affine3d& affine) {
    require(std::abs(affine.linear().determinant()) > 1e-12,
            "an affine of the transform is singular, so it has no inverse");
    return affine.inverse();
  };
  InverseTransform result;
  const std::vector<Transform::Link>& links = transform.links();
  for (std::size_t k = links.size(); k-- > 0;) {
    const Transform::Link& link = links[k];
    result.transform.then(inverted(link.after));
    Inverse inverse = invert(ctx, *link.field, {}, stop);
    result.mean_residual_voxels =
        std::max(result.mean_residual_voxels, inverse.residual.mean_voxels);
    result.largest_residual_voxels =
        std::max(result.largest_residual_voxels, inverse.residual.max_voxels);
    result.transform.then(std::move(inverse.field));
  }
  result.transform.then(inverted(transform.first()));
  return result;
}

Volume<float> jacobian_determinant(Context& ctx, const Transform& transform, const Geometry& grid) {
  return jacobian_determinant(ctx, compose(ctx, transform, grid));
}

Volume<float> log_jacobian(Context& ctx, const Transform& transform, const Geometry& grid) {
  Volume<float> jacobian = jacobian_determinant(ctx, transform, grid);
  for_each_voxel(ctx, grid.extent, LogarithmBody{jacobian.view()});
  return jacobian;
}

}  // namespace freeflow
