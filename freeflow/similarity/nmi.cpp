#include <freeflow/similarity/nmi.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/nmi_body.h>

namespace freeflow {

Nmi::Nmi(const NmiOptions& options) : options_(options), shape_{options.bins, options.bins, Estimator::parzen} {
  require(options.bins >= 16 && options.bins <= 256, "the number of bins must lie between 16 and 256");
}

void Nmi::set_range(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) {
  fixed_range_ = robust_range(ctx, fixed, "the fixed image");
  moving_range_ = robust_range(ctx, moving, "the moving image");
}

void Nmi::prepare(Context& ctx, const ImagePair& images) {
  map_ = images.fixed_to_moving;
  fixed_bin_ = Volume<std::uint16_t>(ctx, images.fixed.geometry());
  moving_in_bins_ = Volume<float>(ctx, images.moving.geometry());
  warped_ = Volume<float>(ctx, images.fixed.geometry());
  const int nf = shape_.fixed_bins, nm = shape_.moving_bins;
  histogram_ = Buffer<std::uint64_t>(ctx, shape_.bins());
  marginals_ = Buffer<std::uint64_t>(ctx, nf + nm);
  derivative_ = Buffer<float>(ctx, shape_.bins());
  entropy_sums_ = Buffer<double>(ctx, 4);
  work_ = ReduceWorkspace(ctx, shape_.bins(), 4);
  for_each_voxel(
      ctx, fixed_bin_.extent(),
      FixedBinBody{images.fixed.view(), fixed_bin_.view(), fixed_range_.low, float(nf - 1) / (fixed_range_.high - fixed_range_.low), nf});
  for_each_voxel(ctx, moving_in_bins_.extent(),
                 MovingBinBody{images.moving.view(), moving_in_bins_.view(), moving_range_.low,
                               float(nm - 3) / (moving_range_.high - moving_range_.low), nm});
}

std::size_t Nmi::level_bytes(std::size_t fixed_voxels, std::size_t moving_voxels) const {
  return 6 * fixed_voxels + 4 * moving_voxels + 12 * shape_.bins();
}

void Nmi::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) {
  const VolumeView<const float> moving = std::as_const(moving_in_bins_).view();
  if (force.data)
    warp_with_gradient(ctx, moving, map_, u, warped_.view(), force);
  else
    warp_values(ctx, moving, map_, u, warped_.view());
  const Extent bins{shape_.moving_bins, shape_.fixed_bins, 1};
  joint_histogram(ctx, options_.scheme, shape_, {fixed_bin_.view().data, warped_.view().data, warped_.extent().count()}, histogram_.data());
  for_each_voxel(ctx, Extent{shape_.fixed_bins + shape_.moving_bins, 1, 1},
                 MarginalBody{histogram_.data(), marginals_.data(), shape_.fixed_bins, shape_.moving_bins});
  reduce(ctx, shape_.bins(), 4, EntropySumBody{{}, histogram_.data(), marginals_.data(), shape_.fixed_bins, shape_.moving_bins}, work_,
         entropy_sums_.data());
  for_each_voxel(ctx, bins,
                 NmiDerivativeBody{histogram_.data(),
                                   marginals_.data(),
                                   entropy_sums_.data(),
                                   shape_.fixed_bins,
                                   double(shape_.unit()),
                                   {derivative_.data(), bins},
                                   cost});
  if (force.data)
    for_each_voxel(ctx, warped_.extent(), NmiForceBody{fixed_bin_.view(), warped_.view(), derivative_.data(), shape_.moving_bins, force});
}

}  // namespace freeflow
