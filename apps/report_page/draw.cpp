#include <apps/report_page/draw.h>

namespace freeflow::apps {

namespace {

Window window_of(const InputImage& image) {
  const auto& [background, clip, measured, cut_out] = image.intensities;
  if (clip && clip->first < clip->second) return {clip->first, clip->second};
  return robust_window(image.voxels.geometry.extent, image.voxels.voxels,
                       background ? &*background : nullptr);
}

}  // namespace

PagePictures draw_registration(Context& ctx, const Registered& registered, const InputImage& fixed,
                               const InputImage& moving) {
  const Window fixed_window = window_of(fixed);
  const Eigen::Vector3d middle =
      middle_of_object(fixed.voxels.geometry.extent, fixed.voxels.voxels, fixed_window);
  return make_pictures(values_of_planes(ctx, registered, middle), fixed_window, window_of(moving));
}

}  // namespace freeflow::apps
