#include <freeflow/registration/linear/small_part.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <freeflow/registration/linear/linear_levels.h>

namespace freeflow {

PreparedImage without_mask(Context& ctx, PreparedImage& image) {
  std::vector<Volume<float>> channels;
  for (std::size_t c = 0; c < image.channels(); ++c)
    channels.push_back(image.channel(c).image(ctx).lend());
  return PreparedImage(std::move(channels));
}

bool mask_leaves_small_part(Context& ctx, PreparedImage& fixed, PreparedImage& moving) {
  if (fixed.has_mask() == moving.has_mask()) return false;
  if (ctx.rehearses()) return true;
  constexpr double small = 0.6, alike = 0.4;
  const auto radius = [&](PreparedImage& image) {
    return content_radius(ctx, image, "the masked image");
  };
  PreparedImage& masked = fixed.has_mask() ? fixed : moving;
  PreparedImage whole = without_mask(ctx, masked);
  const double of_whole = radius(whole), of_other = radius(fixed.has_mask() ? moving : fixed);
  return radius(masked) < small * of_whole &&
         std::min(of_whole, of_other) > alike * std::max(of_whole, of_other);
}

}  // namespace freeflow
