// What a registration computes of one image alone, kept for the next registration of the same
// image: its pyramid inside the mask and its intensity range. For cohorts, templates and
// refinements; a single registration makes its own. It may have several channels (T1 and T2; a
// network's features), which share a grid and a mask: every measure then compares channel by
// channel (similarity/channel_measure.h), while the object's place and the overlap are the first
// channel's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/deform/storage_order.h>
#include <freeflow/registration/levels/pyramid.h>
#include <freeflow/similarity/intensity_range.h>

namespace freeflow {

class PreparedImage {
 public:
  /// Takes an image and its mask (on the same grid; voxels above 0.5 count, above half of the
  /// mask's largest value where none is; empty: everywhere).
  /// Give image.lend() to keep the image with the caller, who then must keep it alive and as it is.
  /// Throws InvalidArgument for an unusable geometry or another grid, naming `what`.
  explicit PreparedImage(Volume<float> image, Volume<float> mask = {},
                         const char* what = "the image");
  /// The same of several channels, all on the grid of the first.
  explicit PreparedImage(std::vector<Volume<float>> channels, Volume<float> mask = {},
                         const char* what = "the image");

  std::size_t channels() const { return 1 + further_.size(); }
  /// One channel as an image of its own; 0 is this one.
  PreparedImage& channel(std::size_t c) { return c == 0 ? *this : further_[c - 1]; }
  const PreparedImage& channel(std::size_t c) const { return c == 0 ? *this : further_[c - 1]; }

  /// What is neither NaN, so outside the mask, nor of the first voxel's value, in any channel: the
  /// box about it with 8 voxels of margin and sides of multiples of 4, as an image of its own for a
  /// nonrigid registration's fixed side. This image where that is more than nine tenths of it, and
  /// in a rehearsal. Made at the first call and kept: the reference stays good as long as this
  /// object. Waits then.
  PreparedImage& content(Context& ctx);

  bool has_mask() const { return !mask_.empty() || !ordered_mask_.empty(); }
  /// Of the image in canonical order (storage_order.h), on which registrations work.
  const Geometry& geometry() const { return geometry_; }
  /// Of the image that this is the content of, or of this one.
  const Geometry& whole_geometry() const { return whole_.empty() ? geometry_ : whole_.geometry(); }
  /// The finest level, of the whole image where this is the content of one.
  const Volume<float>& whole(Context& ctx) { return whole_.empty() ? level(ctx, {}) : whole_; }
  /// Of the image as it came, whole, on which results are returned.
  const Geometry& stored() const { return stored_; }
  const StorageOrder& order() const { return order_; }
  /// For require_on_device.
  const std::shared_ptr<ContextState>& owner() const {
    return image_.empty() ? ordered_image_.owner() : image_.owner();
  }
  /// In canonical order, without its mask. Where it came in another order, what was given for good
  /// is given up for it: an image is in memory once.
  const Volume<float>& image(Context& ctx);
  /// As it came, in the order of stored(): lent where it is there, else a copy.
  Volume<float> as_it_came(Context& ctx) const;
  /// Gives back what registrations computed of it, with all channels. There can be no further
  /// registration; what as_it_came has lent stays.
  void release();

  /// Decimations one after another, each of what the one before left; steps of {1, 1, 1} count for
  /// nothing.
  using Steps = std::vector<Factors>;

  /// The image after these decimations, NaN outside the mask. Computed at the first call and kept:
  /// the reference stays good as long as this object. One thread at a time; after its first
  /// registration a prepared image is only read by further ones of the same options.
  const Volume<float>& level(Context& ctx, const Steps& steps);
  /// The robust range of that level. Throws RegistrationError naming `what` when it is constant or
  /// empty. Waits at the first call.
  const IntensityRange& range(Context& ctx, const Steps& steps, const char* what);

 private:
  /// The content of one channel, in canonical order, with its mask (or none).
  PreparedImage(const PreparedImage& whole, Volume<float> image, Volume<float> mask,
                Volume<float> whole_level);

  struct Level {
    Volume<float> image, mask;  ///< decimated, what the mask leaves alone; empty for the finest
    Volume<float> masked;       ///< the finest, which itself stays as it came; empty without a mask
    std::optional<IntensityRange> range;
  };
  Level& find(Context& ctx, const Steps& steps);
  /// NaN outside the mask.
  const Volume<float>& seen(Context& ctx, const Level& level) {
    if (!level.masked.empty()) return level.masked;
    return level.image.empty() ? image(ctx) : level.image;
  }
  const Volume<float>& mask(Context& ctx);

  Volume<float> image_, mask_;  ///< as they came; the image is empty once it was ordered
  StorageOrder order_;
  Geometry stored_, geometry_;
  Volume<float> ordered_image_, ordered_mask_;  ///< empty where they came in order
  std::map<Steps, std::unique_ptr<Level>> levels_;
  std::vector<PreparedImage> further_;  ///< channels; the first is the object itself
  Volume<float> whole_;                 ///< lent; empty but for the content of an image
  std::unique_ptr<PreparedImage> content_;
  bool whole_is_content_ = false;
};

}  // namespace freeflow
