#include <freeflow/registration/levels/prepared_image.h>

#include <string>
#include <utility>

#include <freeflow/registration/levels/content_box.h>
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

PreparedImage::PreparedImage(const PreparedImage& whole, Volume<float> image, Volume<float> mask,
                             Volume<float> whole_level)
    : order_(whole.order_), stored_(whole.stored_), geometry_(image.geometry()),
      whole_(std::move(whole_level)) {
  const bool as_stored = order_.as_stored();
  (as_stored ? image_ : ordered_image_) = std::move(image);
  (as_stored ? mask_ : ordered_mask_) = std::move(mask);
}

PreparedImage& PreparedImage::content(Context& ctx) {
  constexpr int margin = 8;     // voxels: one where eight are one
  constexpr int multiple = 4;   // of voxels: whole ones, two levels above the finest
  constexpr double most = 0.9;  // of the voxels, beyond which little is gained
  if (content_) return *content_;
  if (whole_is_content_ || !whole_.empty() || ctx.rehearses()) return *this;
  VoxelBox box{};
  for (std::size_t c = 0; c < channels(); ++c)
    box.extend(content_box(ctx, channel(c).level(ctx, {})));
  const bool nothing = box.empty();
  box = box.with_margin(margin, geometry_.extent).with_sides_of(multiple, geometry_.extent);
  const double share = double(box.extent().count()) / double(geometry_.extent.count());
  whole_is_content_ = nothing || share > most;
  if (whole_is_content_) return *this;
  const auto content_of = [&](PreparedImage& channel) {
    return PreparedImage(channel, crop(ctx, channel.image(ctx), box),
                         crop(ctx, channel.mask(ctx), box), channel.level(ctx, {}).lend());
  };
  auto content = std::make_unique<PreparedImage>(content_of(*this));
  for (PreparedImage& channel : further_) content->further_.push_back(content_of(channel));
  content_ = std::move(content);
  return *content_;
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
  content_.reset();
  levels_.clear();
  ordered_image_ = {};
  ordered_mask_ = {};
  for (PreparedImage& channel : further_) channel.release();
}

const Volume<float>& PreparedImage::mask(Context& ctx) {
  if (order_.as_stored()) return mask_;
  if (ordered_mask_.empty() && !mask_.empty()) ordered_mask_ = ordered(ctx, mask_, order_);
  return ordered_mask_;
}

namespace {

/// By halves, and what is odd at once: of each coarse voxel's window a mask that is one voxel thin
/// leaves more than the quarter that decimate() asks for.
Volume<float> decimate_masked(Context& ctx, const Volume<float>& image, Factors factors) {
  Volume<float> result;
  while (factors != Factors{1, 1, 1}) {
    Factors step;
    for (std::size_t a = 0; a < 3; ++a) {
      step[a] = factors[a] % 2 == 0 ? 2 : factors[a];
      factors[a] /= step[a];
    }
    result = decimate(ctx, result.empty() ? image : result, step);
  }
  return result;
}

}  // namespace

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
    if (has_mask()) {
      level->image = decimate_masked(ctx, seen(ctx, before), key.back());
      level->mask = decimate(ctx, before.mask.empty() ? inside(ctx, mask(ctx)) : before.mask.lend(),
                             key.back());
      apply_mask(ctx, level->image, level->mask);
    } else {
      level->image = decimate(ctx, seen(ctx, before), key.back());
    }
  } else if (has_mask()) {
    level->masked = image(ctx).clone(ctx);
    apply_mask(ctx, level->masked, mask(ctx));
  }
  found = std::move(level);
  return *found;
}

const Volume<float>& PreparedImage::level(Context& ctx, const Steps& steps) {
  return seen(ctx, find(ctx, steps));
}

const IntensityRange& PreparedImage::range(Context& ctx, const Steps& steps, const char* what) {
  Level& found = find(ctx, steps);
  if (!found.range) found.range = robust_range(ctx, seen(ctx, found), what);
  return *found.range;
}

}  // namespace freeflow
