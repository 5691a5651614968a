#include <freeflow/registration/levels/prepared_image.h>

#include <string>
#include <utility>

#include <freeflow/regularize/gaussian.h>

namespace freeflow {

PreparedImage::PreparedImage(Volume<float> image, Volume<float> mask, const char* what)
    : image_(std::move(image)), mask_(std::move(mask)) {
  image_.geometry().validate(what);
  require(mask_.empty() || same_grid(mask_.geometry(), image_.geometry()),
          "a mask must lie on the grid of its image");
}

PreparedImage::Level& PreparedImage::find(Context& ctx, const Steps& steps) {
  require_on_device(ctx, image_, mask_);
  Steps key;
  for (const Factors& f : steps)
    if (f != Factors{1, 1, 1}) key.push_back(f);
  std::unique_ptr<Level>& found = levels_[key];
  if (found) return *found;
  auto level = std::make_unique<Level>();
  if (!key.empty()) {
    const Level& before = find(ctx, Steps(key.begin(), key.end() - 1));
    level->image = decimate(ctx, unmasked(before), key.back());
    if (!mask_.empty())
      level->mask = decimate(ctx, before.mask.empty() ? mask_ : before.mask, key.back());
  }
  if (!mask_.empty()) {
    level->masked = unmasked(*level).clone(ctx);
    apply_mask(ctx, level->masked, level->mask.empty() ? mask_ : level->mask);
  }
  found = std::move(level);
  return *found;
}

const Volume<float>& PreparedImage::level(Context& ctx, const Steps& steps) {
  const Level& level = find(ctx, steps);
  return level.masked.empty() ? unmasked(level) : level.masked;
}

const IntensityRange& PreparedImage::range(Context& ctx, const Steps& steps, const char* what) {
  Level& found = find(ctx, steps);
  if (!found.range)
    found.range = robust_range(ctx, found.masked.empty() ? unmasked(found) : found.masked, what);
  return *found.range;
}

}  // namespace freeflow
