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
  stored_ = image_.geometry();
  order_ = canonical_order(stored_);
  geometry_ = ordered(stored_, order_);
}

namespace {

Volume<float> first_of(std::vector<Volume<float>>& channels, const char* what) {
  require(!channels.empty(), std::string(what) + " needs one channel at least");
  return std::move(channels[0]);
}

}  // namespace

PreparedImage::PreparedImage(std::vector<Volume<float>> channels, Volume<float> mask,
                             const char* what)
    : PreparedImage(first_of(channels, what), std::move(mask), what) {
  for (std::size_t c = 1; c < channels.size(); ++c) {
    require(same_grid(channels[c].geometry(), stored()),
            "channel " + std::to_string(c + 1) + " of " + what +
                " lies on another grid than the first; resample it");
    further_.emplace_back(std::move(channels[c]), mask_.lend(), what);
  }
}

const Volume<float>& PreparedImage::image(Context& ctx) {
  if (order_.as_stored()) return image_;
  if (ordered_image_.empty()) {
    ordered_image_ = ordered(ctx, image_, order_);
    image_ = {};
  }
  return ordered_image_;
}

Volume<float> PreparedImage::as_it_came(Context& ctx) const {
  if (!image_.empty()) return image_.lend();
  return as_stored(ctx, ordered_image_, stored_, order_);
}

void PreparedImage::release() {
  levels_.clear();
  ordered_image_ = {};
  ordered_mask_ = {};
  for (PreparedImage& channel : further_) channel.release();
}

const Volume<float>& PreparedImage::mask(Context& ctx) {
  if (order_.as_stored()) return mask_;
  if (ordered_mask_.empty()) ordered_mask_ = ordered(ctx, mask_, order_);
  return ordered_mask_;
}

PreparedImage::Level& PreparedImage::find(Context& ctx, const Steps& steps) {
  require_on_device(ctx, *this, mask_);
  Steps key;
  for (const Factors& f : steps)
    if (f != Factors{1, 1, 1}) key.push_back(f);
  std::unique_ptr<Level>& found = levels_[key];
  if (found) return *found;
  auto level = std::make_unique<Level>();
  if (!key.empty()) {
    const Level& before = find(ctx, Steps(key.begin(), key.end() - 1));
    level->image = decimate(ctx, unmasked(ctx, before), key.back());
    if (!mask_.empty())
      level->mask = decimate(ctx, before.mask.empty() ? mask(ctx) : before.mask, key.back());
  }
  if (!mask_.empty()) {
    level->masked = unmasked(ctx, *level).clone(ctx);
    apply_mask(ctx, level->masked, level->mask.empty() ? mask(ctx) : level->mask);
  }
  found = std::move(level);
  return *found;
}

const Volume<float>& PreparedImage::level(Context& ctx, const Steps& steps) {
  const Level& level = find(ctx, steps);
  return level.masked.empty() ? unmasked(ctx, level) : level.masked;
}

const IntensityRange& PreparedImage::range(Context& ctx, const Steps& steps, const char* what) {
  Level& found = find(ctx, steps);
  if (!found.range)
    found.range =
        robust_range(ctx, found.masked.empty() ? unmasked(ctx, found) : found.masked, what);
  return *found.range;
}

}  // namespace freeflow
