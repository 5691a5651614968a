#include <apps/device_images.h>

#include <algorithm>
#include <string>

#include <freeflow/core/error.h>

namespace freeflow::apps {

namespace {

/// What the fixed image is made of, but for options that all pairs share.
std::string fixed_files(const CommonOptions& o, const Inputs& inputs) {
  std::string files = inputs.kept_files + o.fixed_mask;
  for (const std::string& file : o.fixed) files += '\n' + file;
  // A part of it alone where the moving image is whole.
  if (inputs.fixed[0].intensities.measured) files += "\npart";
  // Its object alone where the moving image shows more, with a margin or without.
  if (inputs.fixed_mask && o.fixed_mask.empty())
    files += "\nobject of " + std::to_string(std::ranges::count(inputs.fixed_mask->voxels, 1.0F));
  return files;
}

}  // namespace

DeviceImages::DeviceImages(Context& ctx, KeptImages* kept, const CommonOptions& options,
                           const Inputs& inputs, const std::function<void()>& check_memory) {
  const std::string files = fixed_files(options, inputs);
  if (kept && !kept->holds(files)) kept->forget();
  try {
    check_memory();
  } catch (const DeviceError&) {
    if (!kept || !kept->holds(files)) throw;
    kept->forget();
    check_memory();
  }
  const auto make = [&] {
    return DeviceImage(ctx, inputs.fixed, inputs.fixed_mask, "the fixed image");
  };
  fixed_ = kept ? &kept->on_device(files, make) : &own_fixed_.emplace(make());
  moving_.emplace(ctx, inputs.moving, inputs.moving_mask, "the moving image");
}

void DeviceImages::free_levels() {
  if (own_fixed_) own_fixed_->free_levels();
  moving_->free_levels();
}

}  // namespace freeflow::apps
