#include <apps/stripped_images.h>

#include <freeflow/registration/linear/stripped.h>

namespace freeflow::apps {

namespace {

/// Whether an object may lie in one value: looked at before an image is copied. The corners that
/// are left of a measured part are not looked at.
bool has_background(const InputImage& image) {
  const HostImage& v = image.voxels;
  return image.intensities.cut_out || image.intensities.measured ||
         corner_value({v.geometry, v.voxels}, image.intensities.background);
}

std::optional<HostImage> mask_of(Context& ctx, const HostImage& image, const HostImage& other) {
  std::optional<HostImage> mask;
  const std::vector<std::uint8_t> counts =
      stripped_object(ctx, {image.geometry, image.voxels}, {other.geometry, other.voxels});
  if (counts.empty()) return mask;
  mask.emplace().geometry = image.geometry;
  mask->voxels.assign(counts.begin(), counts.end());
  return mask;
}

}  // namespace

bool leave_stripped_out(Context& ctx, const CommonOptions& options, Inputs& inputs) {
  const InputImage &fixed = inputs.fixed[0], &moving = inputs.moving[0];
  if (intensity_options(options).background || inputs.fixed_mask || inputs.moving_mask ||
      (!has_background(fixed) && !has_background(moving)))
    return false;
  const std::optional<HostImage> fixed_changed = changed(fixed), moving_changed = changed(moving);
  const HostImage &seen_fixed = fixed_changed ? *fixed_changed : fixed.voxels,
                  &seen_moving = moving_changed ? *moving_changed : moving.voxels;
  const auto warn = [&](const InputImage& image, const InputImage& other, const char* option) {
    inputs.warnings.push_back("'" + image.file +
                              "' shows an object without what surrounds it in '" + other.file +
                              "' (a brain without its skull?), so its background does not count; " +
                              option + " says otherwise");
  };
  inputs.fixed_mask = mask_of(ctx, seen_fixed, seen_moving);
  if (inputs.fixed_mask) {
    warn(fixed, moving, "--fixed-mask");
    return true;
  }
  inputs.moving_mask = mask_of(ctx, seen_moving, seen_fixed);
  if (!inputs.moving_mask) return false;
  warn(moving, fixed, "--moving-mask");
  return true;
}

}  // namespace freeflow::apps
