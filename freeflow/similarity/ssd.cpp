#include <freeflow/similarity/ssd.h>

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/ssd_body.h>

namespace freeflow {

void Ssd::set_range(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) {
  const IntensityRange f = robust_range(ctx, fixed, "the fixed image"), m = robust_range(ctx, moving, "the moving image");
  scale_ = 1.0f / std::max(f.high - f.low, m.high - m.low);
}

void Ssd::prepare(Context& ctx, const ImagePair& images) {
  fixed_ = images.fixed.view();
  moving_ = images.moving.view();
  map_ = images.fixed_to_moving;
  warped_ = Volume<float>(ctx, images.fixed.geometry());
  work_ = ReduceWorkspace(ctx, fixed_.extent.count(), 2);
  sums_ = Buffer<double>(ctx, 2);
}

std::size_t Ssd::level_bytes(const Context&, std::size_t fixed_voxels, std::size_t) const { return 4 * fixed_voxels; }

void Ssd::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) {
  const VolumeView<const float> warped = warped_.view();
  if (force.data)
    warp_with_gradient(ctx, moving_, map_, u, warped_.view(), force);
  else
    warp_values(ctx, moving_, map_, u, warped_.view());
  reduce(ctx, fixed_.extent.count(), 2, SsdSumBody{{}, fixed_.data, warped.data, scale_}, work_, sums_.data());
  for_each_voxel(ctx, Extent{1, 1, 1}, SsdCostBody{sums_.data(), cost});
  if (force.data) for_each_voxel(ctx, fixed_.extent, SsdForceBody{fixed_, warped, scale_, sums_.data(), force});
}

}  // namespace freeflow
