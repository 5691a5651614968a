#include <freeflow/similarity/ssd.h>

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/ssd_body.h>

namespace freeflow {

void Ssd::set_ranges(const IntensityRange& fixed, const IntensityRange& moving) {
  scale_ = 1.0f / std::max(fixed.high - fixed.low, moving.high - moving.low);
}

void Ssd::prepare(Context& ctx, const ImagePair& images) {
  require_on_device(ctx, images.fixed, images.moving);
  fixed_ = images.fixed.view();
  moving_ = images.moving.view();
  map_ = images.fixed_to_moving;
  warped_ = Volume<float>(ctx, images.fixed.geometry());
  work_ = ReduceWorkspace(ctx, fixed_.extent.count(), 2);
  sums_ = Buffer<double>(ctx, 2);
}

void Ssd::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) {
  const VolumeView<const float> warped = warped_.view();
  if (force.data)
    warp_with_gradient(ctx, moving_, map_, u, warped_.view(), force);
  else
    warp_values(ctx, moving_, map_, u, warped_.view());
  reduce(ctx, fixed_.extent.count(), 2, SsdSumBody{{}, fixed_.data, warped.data, scale_}, work_,
         sums_.data());
  for_each_voxel(ctx, Extent{1, 1, 1}, SsdCostBody{sums_.data(), cost});
  if (force.data)
    for_each_voxel(ctx, fixed_.extent, SsdForceBody{fixed_, warped, scale_, sums_.data(), force});
}

}  // namespace freeflow
