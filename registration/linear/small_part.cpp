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
  const bool of_fixed = fixed.has_mask();
  PreparedImage &masked = of_fixed ? fixed : moving, &other = of_fixed ? moving : fixed;
  const char *its_name = of_fixed ? "the fixed image" : "the moving image",
             *other_name = of_fixed ? "the moving image" : "the fixed image";
  PreparedImage whole = without_mask(ctx, masked);
  const double of_whole = content_radius(ctx, whole, its_name),
               of_other = content_radius(ctx, other, other_name);
  return content_radius(ctx, masked, its_name) < small * of_whole &&
         std::min(of_whole, of_other) > alike * std::max(of_whole, of_other);
}

}  // namespace freeflow
