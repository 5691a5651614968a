#include <freeflow/registration/flow/demons_force.h>

#include <algorithm>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/flow/demons_force_body.h>

namespace freeflow {

DemonsChannel::DemonsChannel(double weight, const IntensityRange& fixed,
                             const IntensityRange& moving)
    : weight(float(weight)),
      scale(1.0f / std::max(fixed.high - fixed.low, moving.high - moving.low)) {}

DemonsForce::DemonsForce(Context& ctx, std::span<const ImagePair> images,
                         std::vector<DemonsChannel> scales, bool of_thirion)
    : images_(images.begin(), images.end()), scales_(std::move(scales)),
      warped_(ctx, images[0].fixed.geometry()), of_thirion_(of_thirion) {
  if (images.size() > 1) divisor_ = Volume<float>(ctx, images[0].fixed.geometry());
}

void DemonsForce::evaluate(Context& ctx, FieldView<const float> u, double step,
                           FieldView<float> update) {
  const Geometry& grid = warped_.geometry();
  const float per_bound = float(0.5 / step);
  DemonsStepBody last{update, divisor_.view().data, {}};
  for (int c = 0; c < 3; ++c) last.per_side[c] = float(grid.spacing.minCoeff() / grid.spacing[c]);
  for (std::size_t k = 0; k < images_.size(); ++k) {
    const ImagePair& pair = images_[k];
    warp_values(ctx, pair.moving.view(), pair.fixed_to_moving, u, warped_.view());
    DemonsGradient gradient{pair.fixed.view(), std::as_const(warped_).view(), {}, of_thirion_};
    std::copy_n(last.per_side, 3, gradient.per_side);
    if (images_.size() == 1)
      return for_each_voxel(ctx, grid.extent, DemonsForceBody{gradient, update, per_bound});
    for_each_voxel(ctx, grid.extent,
                   DemonsChannelBody{gradient, update, divisor_.view().data, per_bound,
                                     scales_[k].scale, scales_[k].weight, k == 0});
  }
  for_each_voxel(ctx, grid.extent, last);
}

}  // namespace freeflow
