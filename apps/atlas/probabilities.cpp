#include <apps/atlas/probabilities.h>

#include <algorithm>
#include <cmath>
#include <span>

#include <apps/program.h>
#include <freeflow/io/image_file.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

namespace {

constexpr std::size_t memory_bytes = std::size_t(1) << 30;
constexpr double unit = 1.0 / (1 << 30);  // of the sums: a share is a float between 0 and 1

using Sums = std::vector<std::vector<std::int64_t>>;  // by label, then voxel

/// One subject's share of the labels `values`.
void add_shares(Context& ctx, const AtlasResult& atlas, const AtlasResult::Own& own,
                const HostLabels& labels, std::span<const std::uint64_t> values, Sums& sums) {
  const SamplingMap map(ctx, member_transform(ctx, atlas, own), atlas.mask.geometry(),
                        labels.geometry);
  const std::size_t voxels = labels.labels.size();
  std::vector<float> indicator(voxels);
  for (std::size_t l = 0; l < values.size(); ++l) {
    stop_if_interrupted();
    bool found = false;
    for (std::size_t i = 0; i < voxels; ++i) {
      const bool here = labels.labels[i] == values[l];
      indicator[i] = here ? 1.f : 0.f;
      found = found || here;
    }
    if (!found) continue;
    const std::vector<float> share =
        map.resample(ctx, Volume<float>(ctx, labels.geometry, indicator)).to_host(ctx);
    for (std::size_t i = 0; i < share.size(); ++i)
      if (share[i] > 0) sums[l][i] += std::llround(double(share[i]) / unit);
  }
}

std::string name_of(std::uint64_t label) {
  return "probability_" + std::to_string(std::int64_t(label)) + ".nii.gz";
}

}  // namespace

std::vector<std::string> probability_names(const TemplateLabels& labels) {
  std::vector<std::string> names;
  for (std::size_t l = 1; l < labels.values.size(); ++l) names.push_back(name_of(labels.values[l]));
  return names;
}

void write_probabilities(Context& ctx, const AtlasResult& atlas,
                         const std::vector<ListedSubject>& listed, const TemplateLabels& labels,
                         Ranks& ranks, const OutputSet* outputs) {
  const Geometry& grid = atlas.mask.geometry();
  const std::size_t voxels = grid.extent.count();
  const std::size_t at_once = std::max<std::size_t>(1, memory_bytes / (8 * voxels));
  for (std::size_t first = 1; first < labels.values.size(); first += at_once) {
    const auto values =
        std::span(labels.values).subspan(first, std::min(at_once, labels.values.size() - first));
    Sums sums(values.size(), std::vector<std::int64_t>(voxels));
    for (const AtlasResult::Own& own : atlas.own)
      if (const ListedSubject* subject = labelled(atlas, own, listed))
        add_shares(ctx, atlas, own, read_labels(subject->labels), values, sums);
    for (std::size_t l = 0; l < values.size(); ++l) {
      ranks.sum(sums[l]);
      if (!outputs) continue;
      std::vector<float> mean;
      mean.reserve(voxels);
      for (const std::int64_t sum : sums[l])
        mean.push_back(float(double(sum) * unit / double(labels.subjects)));
      write_image(outputs->file(name_of(values[l])), grid, mean, StoredType::float32,
                  ctx.threads());
    }
  }
}

}  // namespace freeflow::apps
