#include <freeflow/deform/warp.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/deform/warp_body.h>

namespace freeflow {

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const WarpValuesBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const WarpValuesBody local = body;
    float* const out = &local.warped(x, y, z);
    RowCells cells;
    cells.locate(local.moving.extent, n, [&](int i) { return local.point(x + i, y, z); });
    cells.fetch(local.moving.data);
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) out[i] = cells.value(i);
  });
}

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const WarpWithGradientBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const WarpWithGradientBody local = body;
    const std::size_t first = local.warped.offset(x, y, z);
    RowCells cells;
    cells.locate(local.moving.extent, n, [&](int i) { return local.point(x + i, y, z); });
    cells.fetch(local.moving.data);
    RowGradients samples;
    cells.with_gradient(samples);
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) local.write(first + i, samples[i]);
  });
}

namespace {

/// Beside holes and outside the body's own rule holds, voxel by voxel.
template <class Point>
void warp_linear(backend::Cpu cpu, Extent extent, const WarpLinearBody<Point>& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const WarpLinearBody<Point> local = body;
    float* const out = &local.out(x, y, z);
    RowCells cells;
    cells.locate(local.moving.extent, n, [&](int i) { return local.point(x + i, y, z); });
    cells.fetch(local.moving.data);
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) out[i] = cells.value(i);
    for (int i = 0; i < n; ++i)
      if (!is_finite(out[i])) local(x + i, y, z);
  });
}

}  // namespace

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const WarpLinearBody<DisplacedPoint>& body) {
  warp_linear(cpu, extent, body);
}

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent,
                    const WarpLinearBody<PointThroughField>& body) {
  warp_linear(cpu, extent, body);
}

void bspline_prefilter(Context& ctx, VolumeView<float> image) {
  const auto lines_along = [&](int axis) {
    Extent lines = image.extent;
    (axis == 0 ? lines.x : axis == 1 ? lines.y : lines.z) = 1;
    return lines;
  };
  for (int axis = 0; axis < 3; ++axis)
    for_each_voxel(ctx, lines_along(axis), FillHolesLineBody{image, axis});
  for (int axis = 0; axis < 3; ++axis)
    for_each_voxel(ctx, lines_along(axis), PrefilterLineBody{image, axis});
}

namespace {

/// What is indexed with: an image and a grid that are there, and a finite way between them.
void require_usable(const Geometry& image, const Geometry& grid, const Eigen::Affine3d& between) {
  image.validate("the image to be sampled");
  grid.validate("the grid to be sampled");
  require(between.matrix().allFinite(), "the affine between grid and image is not finite");
}

template <class Point>
Volume<float> sample_at(Context& ctx, const Volume<float>& image, const Geometry& grid,
                        const Point& point, Interpolation interpolation, float fill) {
  Volume<float> out(ctx, grid);
  switch (interpolation) {
    case Interpolation::nearest:
      for_each_voxel(ctx, grid.extent,
                     WarpNearestBody<Point>{point, image.view(), out.view(), fill});
      break;
    case Interpolation::linear:
      for_each_voxel(ctx, grid.extent,
                     WarpLinearBody<Point>{point, image.view(), out.view(), fill});
      break;
    case Interpolation::cubic: {
      Volume<float> coefficients = image.clone(ctx);
      bspline_prefilter(ctx, coefficients.view());
      for_each_voxel(
          ctx, grid.extent,
          WarpCubicBody<Point>{point, coefficients.view(), image.view(), out.view(), fill});
      break;
    }
  }
  return out;
}

}  // namespace

Volume<float> warp(Context& ctx, const Volume<float>& moving, const Geometry& grid,
                   const Eigen::Affine3d& world, const DisplacementField* u,
                   Interpolation interpolation, float fill) {
  require(!u || same_grid(u->geometry(), grid),
          "the displacement field does not lie on the grid to be sampled");
  require_usable(moving.geometry(), grid, world);
  require_on_device(ctx, moving);
  if (u) require_on_device(ctx, *u);
  const DisplacedPoint point{index_map(grid, world, moving.geometry()),
                             {u ? u->view().data : nullptr, grid.extent}};
  return sample_at(ctx, moving, grid, point, interpolation, fill);
}

Volume<float> warp_through(Context& ctx, const Volume<float>& image, const Geometry& grid,
                           const Eigen::Affine3d& before, const DisplacementField& v,
                           Interpolation interpolation, float fill) {
  require_usable(image.geometry(), grid, before);
  v.geometry().validate("the displacement field");
  require_on_device(ctx, image, v);
  const PointThroughField point{
      index_map(grid, before, v.geometry()),
      index_map(v.geometry(), Eigen::Affine3d::Identity(), image.geometry()), v.view()};
  return sample_at(ctx, image, grid, point, interpolation, fill);
}

void warp_values(Context& ctx, VolumeView<const float> moving, const PointMap& map,
                 FieldView<const float> u, VolumeView<float> warped, int first) {
  for_each_voxel(ctx, warped.extent, WarpValuesBody{{map, u, first}, moving, warped});
}

void warp_values_cubic(Context& ctx, VolumeView<const float> moving,
                       VolumeView<const float> coefficients, const PointMap& map,
                       FieldView<const float> u, VolumeView<float> warped, int first) {
  for_each_voxel(ctx, warped.extent,
                 WarpCubicBody<DisplacedPoint>{{map, u, first}, coefficients, moving, warped, NAN});
}

void warp_with_gradient(Context& ctx, VolumeView<const float> moving, const PointMap& map,
                        FieldView<const float> u, VolumeView<float> warped,
                        FieldView<float> gradient) {
  for_each_voxel(ctx, warped.extent, WarpWithGradientBody{{map, u}, moving, warped, gradient});
}

}  // namespace freeflow
