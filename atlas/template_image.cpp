#include <freeflow/atlas/template_image.h>

#include <cmath>

#include <freeflow/atlas/intensities.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

namespace {

constexpr float object_share = 0.2f;

/// NaN where there was none stays so.
Volume<float> sharpened(Context& ctx, const Volume<float>& image, double amount) {
  const Volume<float> smooth = gaussian(ctx, image, Eigen::Vector3d::Ones());
  return linear_combination(ctx, 1 + amount, image, -amount, smooth);
}

}  // namespace

TemplateAverage::TemplateAverage(Context& ctx, const Geometry& grid, std::size_t channels,
                                 bool with_masks, const AtlasOptions& options)
    : grid_(grid), options_(options) {
  const std::size_t voxels = grid.extent.count();
  for (std::size_t c = 0; c < channels; ++c) {
    if (options.statistic == AtlasStatistic::mean)
      means_.emplace_back(ctx, grid, 2 * highest_intensity);  // a spline overshoots
    else
      ranked_.emplace_back(voxels, lowest_intensity, highest_intensity,
                           options.statistic == AtlasStatistic::median ? 1 : options.trim);
  }
  if (with_masks) masks_.emplace(ctx, grid, 2);
}

void TemplateAverage::add(Context& ctx, const std::vector<Volume<float>>& channels,
                          const Volume<float>& mask) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (means_.empty())
      ranked_[c].add(channels[c].to_host(ctx));
    else
      means_[c].add(ctx, channels[c]);
  }
  if (masks_) masks_->add(ctx, mask);
}

Volume<float> TemplateAverage::channel(Context& ctx, Ranks& ranks, std::size_t c) {
  Volume<float> image;
  if (means_.empty()) {
    image = Volume<float>(ctx, grid_, ranked_[c].mean(ranks, ctx.threads()));
  } else {
    sum_over(ranks, ctx, means_[c]);
    image = means_[c].mean(ctx);
  }
  return options_.sharpening > 0 ? sharpened(ctx, image, options_.sharpening) : std::move(image);
}

TemplateImage TemplateAverage::result(Context& ctx, Ranks& ranks) {
  TemplateImage made;
  const std::size_t channels = std::max(means_.size(), ranked_.size());
  for (std::size_t c = 0; c < channels; ++c) made.channels.push_back(channel(ctx, ranks, c));
  float threshold = object_share * usual_intensity;
  std::vector<float> values;
  if (masks_) {
    sum_over(ranks, ctx, *masks_);
    values = masks_->mean(ctx).to_host(ctx);
    threshold = 0.5f;
  } else {
    values = made.channels[0].to_host(ctx);
  }
  for (float& v : values) v = v > threshold ? 1 : 0;
  made.mask = Volume<float>(ctx, grid_, values);
  return made;
}

double sharpness_of(const std::vector<float>& image, const std::vector<float>& mask,
                    const Geometry& grid) {
  const Extent n = grid.extent;
  const std::size_t step[3] = {1, std::size_t(n.x), std::size_t(n.x) * std::size_t(n.y)};
  double sum = 0, count = 0;
  for (int z = 1; z + 1 < n.z; ++z)
    for (int y = 1; y + 1 < n.y; ++y)
      for (int x = 1; x + 1 < n.x; ++x) {
        const std::size_t i = n.offset(x, y, z);
        if (!(mask[i] > 0.5f)) continue;
        double square = 0;
        for (int axis = 0; axis < 3; ++axis) {
          const double slope = (double(image[i + step[axis]]) - image[i - step[axis]]) /
                               (2 * grid.spacing[axis] * usual_intensity);
          square += slope * slope;
        }
        if (std::isfinite(square)) sum += square, ++count;
      }
  return count > 0 ? std::sqrt(sum / count) : 0;
}

double correlation_of(const std::vector<float>& a, const std::vector<float>& b,
                      const std::vector<float>& mask) {
  double n = 0, sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(mask[i] > 0.5f) || !std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    const double x = a[i], y = b[i];
    ++n, sa += x, sb += y, aa += x * x, bb += y * y, ab += x * y;
  }
  const double va = n * aa - sa * sa, vb = n * bb - sb * sb;
  return n > 0 && va > 0 && vb > 0 ? (n * ab - sa * sb) / std::sqrt(va * vb) : 0;
}

}  // namespace freeflow
