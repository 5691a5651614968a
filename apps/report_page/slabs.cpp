#include <apps/report_page/slabs.h>

#include <cmath>

#include <freeflow/deform/field_operations.h>
#include <freeflow/evaluation/corner_jacobian.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

namespace {

/// Of the slab's three planes of numbers, those of one slice.
void take_displacement(Context& ctx, const DisplacementField& u, PlaneValues& values) {
  const Plane& plane = values.plane;
  const DisplacementField slab = resample(ctx, u, plane.slab);
  const std::vector<float> host = slab.to_host(ctx);
  const std::vector<float> jacobian = jacobian_determinant(ctx, slab).to_host(ctx);
  const FieldView<const float> view{host.data(), slab.extent()};
  const Extent n = slab.extent();
  const auto in_slice = [&](std::size_t at) {
    return std::ptrdiff_t(n.offset(0, 0, plane.middle) + at);
  };
  const auto pixels = std::ptrdiff_t(n.x) * n.y;
  for (std::size_t component = 0; component < 3; ++component)
    values.displacement.insert(values.displacement.end(),
                               host.begin() + in_slice(component * n.count()),
                               host.begin() + in_slice(component * n.count()) + pixels);
  values.jacobian.assign(jacobian.begin() + in_slice(0), jacobian.begin() + in_slice(0) + pixels);
  values.folded.reserve(std::size_t(pixels));
  for (int y = 0; y < n.y; ++y)
    for (int x = 0; x < n.x; ++x)
      values.folded.push_back(!(smallest_corner_jacobian(view, {x, y, plane.middle}) > 0));
}

}  // namespace

std::array<PlaneValues, 3> values_of_planes(Context& ctx, const Registered& in,
                                            const Eigen::Vector3d& voxel) {
  const std::array<Plane, 3> planes = planes_through(in.fixed.geometry(), voxel);
  Transform whole(in.affine);
  if (in.displacement) whole = Transform(in.displacement->lend(), in.affine);
  const bool two_stages = in.displacement && !in.affine.isApprox(Eigen::Affine3d::Identity(), 1e-9);
  std::array<PlaneValues, 3> all;
  for (std::size_t i = 0; i < 3; ++i) {
    PlaneValues& values = all[i];
    values.plane = planes[i];
    const Geometry grid = planes[i].grid();
    const auto through = [&](const Transform& transform) {
      return resample(ctx, in.moving, transform, grid, Interpolation::linear, NAN).to_host(ctx);
    };
    values.fixed =
        resample(ctx, in.fixed, Transform(), grid, Interpolation::nearest, NAN).to_host(ctx);
    values.before = through(Transform());
    if (two_stages) values.affine = through(Transform(in.affine));
    values.warped = through(whole);
    if (in.displacement) take_displacement(ctx, *in.displacement, values);
  }
  return all;
}

}  // namespace freeflow::apps
