#include <freeflow/registration/linear/small_part.h>

#include <algorithm>
#include <cmath>
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
  constexpr double small = 0.6, thin = 0.2, alike = 0.4;
  const bool of_fixed = fixed.has_mask();
  PreparedImage &masked = of_fixed ? fixed : moving, &other = of_fixed ? moving : fixed;
  const char *its_name = of_fixed ? "the fixed image" : "the moving image",
             *other_name = of_fixed ? "the moving image" : "the fixed image";
  PreparedImage whole_image = without_mask(ctx, masked);
  const ContentExtent part = content_at_a_glance(ctx, masked, its_name),
                      whole = content_at_a_glance(ctx, whole_image, its_name);
  const double other_radius = content_at_a_glance(ctx, other, other_name).radius_mm,
               ball = 4 * EIGEN_PI / 3 * std::pow(whole.radius_mm, 3);
  return (part.radius_mm < small * whole.radius_mm || part.volume_mm3 < thin * ball) &&
         std::min(whole.radius_mm, other_radius) > alike * std::max(whole.radius_mm, other_radius);
}

}  // namespace freeflow
