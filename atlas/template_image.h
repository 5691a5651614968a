// Private to atlas: the average of the subjects' images on the template's grid, and what is
// measured on it.
#pragma once

#include <optional>
#include <vector>

#include <freeflow/atlas/atlas_options.h>
#include <freeflow/atlas/ranked_mean.h>
#include <freeflow/core/volume.h>
#include <freeflow/deform/exact_mean.h>

namespace freeflow {

struct TemplateImage {
  std::vector<Volume<float>> channels;  ///< NaN where no subject has a value
  /// 1 where half of the subjects' masks are; without masks where the first channel is above a
  /// fifth of the usual intensity.
  Volume<float> mask;
};

class TemplateAverage {
 public:
  TemplateAverage(Context& ctx, const Geometry& grid, std::size_t channels, bool with_masks,
                  const AtlasOptions& options);

  /// A subject's images, sampled on the grid, and its mask, where there are masks.
  void add(Context& ctx, const std::vector<Volume<float>>& channels, const Volume<float>& mask);
  /// Over all processes, sharpened where that is asked for.
  TemplateImage result(Context& ctx, Ranks& ranks);

 private:
  Volume<float> channel(Context& ctx, Ranks& ranks, std::size_t c);

  Geometry grid_;
  const AtlasOptions& options_;
  std::vector<ExactMean<Volume<float>>> means_;
  std::vector<RankedMean> ranked_;
  std::optional<ExactMean<Volume<float>>> masks_;
};

/// Adds up the sums of all processes.
template <class Values>
void sum_over(Ranks& ranks, Context& ctx, ExactMean<Values>& mean) {
  if (ranks.size() == 1) return;
  std::vector<std::int64_t> words = mean.words().to_host(ctx);
  ranks.sum(words);
  ctx.copy_to_device(mean.words().data(), words.data(), words.size() * sizeof words[0]);
}

/// Root mean square of the gradient (central differences) over the mask, in shares of the usual
/// intensity per mm.
double sharpness_of(const std::vector<float>& image, const std::vector<float>& mask,
                    const Geometry& grid);

/// Pearson's correlation over the mask, where both have a value.
double correlation_of(const std::vector<float>& a, const std::vector<float>& b,
                      const std::vector<float>& mask);

}  // namespace freeflow
