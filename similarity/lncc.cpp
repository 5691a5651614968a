#include <freeflow/similarity/lncc.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/lncc_body.h>

namespace freeflow {

namespace {

constexpr std::size_t moment_planes = 6, coefficient_planes = 3;

Volume<float> in_parts_of_range(Context& ctx, const Volume<float>& image,
                                const IntensityRange& range) {
  Volume<float> out(ctx, image.geometry());
  for_each_voxel(
      ctx, image.extent(),
      LnccIntensityBody{image.view(), out.view(), range.low, 1.0f / (range.high - range.low)});
  return out;
}

std::size_t tally_columns(Extent n, int radius) {
  return std::size_t(n.x) * n.z * window_sum::segments(n.y, window_sum::y_segment(radius));
}

}  // namespace

Lncc::Lncc(const LnccOptions& options) : options_(options) {
  require(options.radius >= 1 && options.radius <= 64,
          "the radius of the local correlation's window must lie between 1 and 64 voxels");
  require(options.epsilon >= 1e-4 && options.epsilon <= 1,
          "the epsilon of the local correlation must lie between 1e-4 and 1");
}

void Lncc::set_ranges(const IntensityRange& fixed, const IntensityRange& moving) {
  fixed_range_ = fixed;
  moving_range_ = moving;
}

void Lncc::prepare(Context& ctx, const ImagePair& images) {
  require_on_device(ctx, images.fixed, images.moving);
  map_ = images.fixed_to_moving;
  fixed_ = in_parts_of_range(ctx, images.fixed, fixed_range_);
  moving_ = in_parts_of_range(ctx, images.moving, moving_range_);
  warped_ = Volume<float>(ctx, images.fixed.geometry());
  const Extent n = fixed_.extent();
  const std::size_t columns = tally_columns(n, options_.radius);
  const std::size_t planes = further_boxes() ? moment_planes : coefficient_planes;
  moments_ = Buffer<float>(ctx, moment_planes * n.count(), Planes{int(moment_planes)});
  coefficients_ = Buffer<float>(ctx, planes * n.count(), Planes{int(planes)});
  tally_ = Buffer<double>(ctx, 2 * columns);
  sums_ = Buffer<double>(ctx, 2);
  work_ = ReduceWorkspace(ctx, columns, 2);
}

/// The moments' window sums, the value, and the coefficients for the force.
void Lncc::sum_value(Context& ctx, bool with_coefficients, double* cost) {
  const Extent n = fixed_.extent();
  const int radius = options_.radius,
            segments = window_sum::segments(n.y, window_sum::y_segment(radius));
  const VolumeView<float> moments{moments_.data(), n}, coefficients{coefficients_.data(), n};
  const float *fixed = fixed_.view().data, *warped = warped_.view().data;
  sum_along_z(ctx, n, radius, LnccMomentsAlongZ{fixed, warped, moments});
  for (int box = 0; box < further_boxes(); ++box) {
    sum_along_yx(ctx, n, radius, PlanesAlongYx<6>{moments.data, coefficients});
    sum_along_z(ctx, n, radius, PlanesAlongZ<6>{coefficients.data, moments});
  }
  const VolumeView<float> out{with_coefficients ? coefficients.data : nullptr, n};
  const float e = float(options_.epsilon * options_.epsilon);
  sum_along_yx(
      ctx, n, radius,
      LnccCoefficientsAlongYx{moments.data, fixed, warped, e, out, tally_.data(), segments});
  const std::size_t columns = tally_columns(n, radius);
  reduce(ctx, columns, 2, LnccTallyBody{{}, tally_.data(), columns}, work_, sums_.data());
  for_each_voxel(ctx, Extent{1, 1, 1}, LnccCostBody{sums_.data(), cost});
}

void Lncc::sum_force(Context& ctx, FieldView<const float> u, FieldView<float> force) {
  const Extent n = fixed_.extent();
  const int radius = options_.radius;
  const VolumeView<float> moments{moments_.data(), n}, coefficients{coefficients_.data(), n};
  for (int box = 0; box < further_boxes(); ++box) {
    sum_along_yx(ctx, n, radius, PlanesAlongYx<3>{coefficients.data, moments});
    sum_along_z(ctx, n, radius, PlanesAlongZ<3>{moments.data, coefficients});
  }
  sum_along_yx(ctx, n, radius, PlanesAlongYx<3>{coefficients.data, moments});
  sum_along_z(ctx, n, radius,
              LnccForceAlongZ{moments.data,
                              fixed_.view().data,
                              std::as_const(moving_).view(),
                              {map_, u},
                              sums_.data(),
                              force});
}

void Lncc::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) {
  warp_values(ctx, std::as_const(moving_).view(), map_, u, warped_.view());
  sum_value(ctx, force.data != nullptr, cost);
  if (force.data) sum_force(ctx, u, force);
}

}  // namespace freeflow
