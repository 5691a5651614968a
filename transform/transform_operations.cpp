#include <freeflow/transform/transform_operations.h>

#include <omp.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/host_planes.h>
#include <freeflow/transform/affine_split.h>
#include <freeflow/transform/transform_operations_body.h>

namespace freeflow {

DisplacementField compose(Context& ctx, const Transform& transform, const Geometry& grid) {
  grid.validate("the grid to compose on");
  DisplacementField out(ctx, grid);
  for_each_voxel(ctx, grid.extent,
                 ComposeChainBody{chain_point(ctx, transform, grid, grid), out.view()});
  return out;
}

Geometry grid_of_range(const Geometry& grid, std::span<const float> planes, int threads) {
  grid.validate("the grid of the displacement field");
  const Extent n = grid.extent;
  const std::size_t count = n.count();
  require(planes.size() == 3 * count, "the number of displacements does not fit the geometry");
  double x0 = 0, y0 = 0, z0 = 0, x1 = n.x - 1, y1 = n.y - 1, z1 = n.z - 1;
#pragma omp parallel for schedule(static)                                              \
    num_threads(threads > 0 ? threads : omp_get_max_threads()) reduction(min           \
                                                                         : x0, y0, z0) \
        reduction(max                                                                  \
                  : x1, y1, z1)
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const float* const u = planes.data() + n.offset(x, y, z);
        const double to_x = x + double(u[0]), to_y = y + double(u[count]),
                     to_z = z + double(u[2 * count]);
        x0 = std::min(x0, to_x), y0 = std::min(y0, to_y), z0 = std::min(z0, to_z);
        x1 = std::max(x1, to_x), y1 = std::max(y1, to_y), z1 = std::max(z1, to_z);
      }
  // A grid holds what lies up to half a voxel beyond its outermost centres.
  const auto added = [](double voxels) {
    require(voxels < 1e6, "a displacement field leads a million voxels beyond its grid");
    return int(std::ceil(std::max(0.0, voxels - 0.5)));
  };
  const Eigen::Vector3i before(added(-x0), added(-y0), added(-z0));
  const Eigen::Vector3i after(added(x1 - (n.x - 1)), added(y1 - (n.y - 1)), added(z1 - (n.z - 1)));
  Geometry grown = grid;
  grown.extent = {n.x + before.x() + after.x(), n.y + before.y() + after.y(),
                  n.z + before.z() + after.z()};
  grown.origin = grid.index_to_world() * -before.cast<double>();
  return grown;
}

Transform split_affines(Context& ctx, const Transform& transform) {
  if (ctx.rehearses()) return transform;
  Transform apart(transform.first());
  for (const Transform::Link& link : transform.links()) {
    const Geometry& grid = link.field->geometry();
    const HostPlanes on_host(ctx, *link.field);
    if (const auto split = split_affine(grid, on_host.planes(), ctx.threads()))
      apart.then(DisplacementField(ctx, grid, split->planes)).then(split->affine);
    else
      apart.then(link.field);
    apart.then(link.after);
  }
  return apart;
}

Transform on_ranges(Context& ctx, const Transform& transform) {
  if (ctx.rehearses()) return transform;
  const Transform apart = split_affines(ctx, transform);
  Transform ranging(apart.first());
  for (const Transform::Link& link : apart.links()) {
    const Geometry& own = link.field->geometry();
    const Geometry grid = grid_of_range(own, HostPlanes(ctx, *link.field).planes(), ctx.threads());
    if (same_grid(grid, own))
      ranging.then(link.field);
    else
      ranging.then(resample(ctx, *link.field, grid));
    ranging.then(link.after);
  }
  return ranging;
}

InverseTransform invert(Context& ctx, const Transform& chain, const StopRequest& stop) {
  const Transform transform = split_affines(ctx, chain);
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
