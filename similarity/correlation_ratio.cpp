#include <freeflow/similarity/correlation_ratio.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/correlation_ratio_body.h>

namespace freeflow {

namespace {

bool is_reverse(const CorrelationRatioOptions& options) {
  return options.direction == RatioDirection::fixed_given_moving;
}

}  // namespace

CorrelationRatio::CorrelationRatio(const CorrelationRatioOptions& options) : options_(options) {
  require(options.bins >= (is_reverse(options) ? 4 : 2) && options.bins <= 256,
          "the number of bins must lie between 2 (for eta(fixed | moving) 4) and 256");
  require(options.border_mm >= 0 && options.border_mm < 1e6,
          "the border's width must not be negative");
  require(!is_reverse(options) || options.scheme != RatioScheme::conflict_free,
          "conflict_free sorts the bins of the fixed image, but eta(fixed | moving) has its bins "
          "on the moving one; take auto");
}

void CorrelationRatio::set_ranges(const IntensityRange& fixed, const IntensityRange& moving) {
  fixed_range_ = fixed;
  moving_range_ = moving;
}

void CorrelationRatio::prepare(Context& ctx, const ImagePair& images) {
  require_on_device(ctx, images.fixed, images.moving);
  const int bins = options_.bins;
  const float fixed_span = fixed_range_.high - fixed_range_.low,
              moving_span = moving_range_.high - moving_range_.low;
  fixed_ = Volume<std::uint16_t>(ctx, images.fixed.geometry());
  moving_ = Volume<float>(ctx, images.moving.geometry());
  warped_ = Volume<float>(ctx, images.fixed.geometry());
  if (is_reverse(options_)) {
    for_each_voxel(ctx, fixed_.extent(),
                   RatioFixedBody{images.fixed.view(), fixed_.view(), fixed_range_.low,
                                  RatioInput::most / fixed_span});
    for_each_voxel(ctx, moving_.extent(),
                   MovingBinBody{images.moving.view(), moving_.view(), moving_range_.low,
                                 float(bins - 3) / moving_span, bins});
  } else {
    for_each_voxel(ctx, fixed_.extent(),
                   FixedBinBody{images.fixed.view(), fixed_.view(), fixed_range_.low,
                                float(bins - 1) / fixed_span, bins});
    for_each_voxel(ctx, moving_.extent(),
                   RatioMovingBody{images.moving.view(), moving_.view(), moving_range_.low,
                                   RatioInput::most / moving_span});
  }
  const Eigen::Vector3d border =
      options_.border_mm * images.moving.geometry().spacing.cwiseInverse();
  const RatioShape shape{
      bins, options_.direction, false, {float(border.x()), float(border.y()), float(border.z())}};
  input_ = {fixed_.extent(),
            fixed_.view().data,
            std::as_const(moving_).view(),
            images.fixed_to_moving,
            {},
            nullptr,
            1};
  plan_ = RatioPlan(ctx, options_.scheme, shape, input_);
  sums_ = Buffer<std::uint64_t>(ctx, shape.words());
  sums_.fill_zero(ctx);
  statistics_ = Buffer<RatioStatistics>(ctx, 1);
  means_ = Buffer<float>(ctx, bins);
}

void CorrelationRatio::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                                double* cost) {
  input_.u = u;
  add_ratio_sums(ctx, plan_, input_, sums_.data());
  finish_ratio(ctx, plan_.shape, sums_.data(), {statistics_.data(), means_.data(), cost});
  if (!force.data) return;
  warp_with_gradient(ctx, input_.moving, input_.map, u, warped_.view(), force);
  const RatioPlace place{
      {input_.map, {u.data, input_.extent}}, moving_.extent(), BorderWeight::of(plan_.shape)};
  if (is_reverse(options_))
    for_each_voxel(ctx, warped_.extent(),
                   RatioParzenForceBody{fixed_.view(), warped_.view(), means_.data(),
                                        statistics_.data(), options_.bins, place, force});
  else
    for_each_voxel(ctx, warped_.extent(),
                   RatioForceBody{fixed_.view(), warped_.view(), means_.data(), statistics_.data(),
                                  place, force});
}

}  // namespace freeflow
