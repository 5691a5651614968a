#include <freeflow/evaluation/label_overlap.h>

#include <limits>

#include <freeflow/evaluation/label_slots.h>

namespace freeflow {

double LabelOverlap::dice() const {
  const std::size_t both = first_voxels + second_voxels;
  return both ? 2 * double(common_voxels) / double(both) : std::numeric_limits<double>::quiet_NaN();
}

std::vector<LabelOverlap> label_overlap(Context& ctx, const Volume<std::int32_t>& first,
                                        const Volume<std::int32_t>& second,
                                        std::span<const std::int32_t> labels) {
  require(same_grid(first.geometry(), second.geometry()),
          "the two label volumes do not share a grid");
  const std::vector<std::int32_t> a = first.to_host(ctx), b = second.to_host(ctx);
  std::vector<LabelOverlap> overlaps(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) overlaps[i].label = labels[i];
  LabelSlots slots_of_first(labels), slots_of_second(labels);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::ptrdiff_t one = slots_of_first.of(a[i]), other = slots_of_second.of(b[i]);
    if (one >= 0) ++overlaps[std::size_t(one)].first_voxels;
    if (other >= 0) ++overlaps[std::size_t(other)].second_voxels;
    if (one >= 0 && one == other) ++overlaps[std::size_t(one)].common_voxels;
  }
  return overlaps;
}

}  // namespace freeflow
