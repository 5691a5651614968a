#include <freeflow/evaluation/surface_distance.h>

#include <algorithm>
#include <cmath>

#include <freeflow/evaluation/distance_transform.h>
#include <freeflow/evaluation/label_slots.h>
#include <freeflow/evaluation/statistics.h>

namespace freeflow {

namespace {

struct Box {
  int low[3] = {std::numeric_limits<int>::max(), std::numeric_limits<int>::max(),
                std::numeric_limits<int>::max()};
  int high[3] = {-1, -1, -1};  ///< inclusive

  void take(int x, int y, int z) {
    const int at[3] = {x, y, z};
    for (int a = 0; a < 3; ++a) {
      low[a] = std::min(low[a], at[a]);
      high[a] = std::max(high[a], at[a]);
    }
  }
  bool empty() const { return high[0] < 0; }
  Extent extent() const {
    return {high[0] - low[0] + 1, high[1] - low[1] + 1, high[2] - low[2] + 1};
  }
};

using Labels = VolumeView<const std::int32_t>;

/// Of every label that of both volumes together.
std::vector<Box> boxes_of(const Labels& a, const Labels& b, std::span<const std::int32_t> labels) {
  std::vector<Box> boxes(labels.size());
  for (const Labels& volume : {a, b}) {
    LabelSlots slots(labels);
    for (int z = 0; z < volume.extent.z; ++z)
      for (int y = 0; y < volume.extent.y; ++y)
        for (int x = 0; x < volume.extent.x; ++x)
          if (const std::ptrdiff_t slot = slots.of(volume(x, y, z)); slot >= 0)
            boxes[std::size_t(slot)].take(x, y, z);
  }
  return boxes;
}

bool on_surface(const Labels& v, std::int32_t label, int x, int y, int z) {
  if (v(x, y, z) != label) return false;
  const Extent n = v.extent;
  return x == 0 || y == 0 || z == 0 || x == n.x - 1 || y == n.y - 1 || z == n.z - 1 ||
         v(x - 1, y, z) != label || v(x + 1, y, z) != label || v(x, y - 1, z) != label ||
         v(x, y + 1, z) != label || v(x, y, z - 1) != label || v(x, y, z + 1) != label;
}

/// Marks the surface voxels of the box and counts them.
std::size_t mark_surface(const Labels& v, std::int32_t label, const Box& box, int threads,
                         std::vector<std::uint8_t>& marked) {
  const Extent n = box.extent();
  marked.resize(n.count());
  std::size_t count = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : count)
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const bool found = on_surface(v, label, x + box.low[0], y + box.low[1], z + box.low[2]);
        marked[n.offset(x, y, z)] = std::uint8_t(found);
        count += std::size_t(found);
      }
  return count;
}

/// Of the surface voxels of `from` to the surface `to`, in the order of the voxels.
std::vector<double> directed(const std::vector<std::uint8_t>& from,
                             const std::vector<std::uint8_t>& to, Extent box,
                             const Eigen::Vector3d& spacing, int threads,
                             std::vector<double>& squared) {
  squared_distance(to, box, spacing, threads, squared);
  std::vector<double> distances;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i]) distances.push_back(std::sqrt(squared[i]));
  return distances;
}

}  // namespace

std::vector<SurfaceDistance> surface_distance(Context& ctx, const Volume<std::int32_t>& first,
                                              const Volume<std::int32_t>& second,
                                              std::span<const std::int32_t> labels) {
  require(same_grid(first.geometry(), second.geometry()),
          "the two label volumes do not share a grid");
  const std::vector<std::int32_t> first_voxels = first.to_host(ctx),
                                  second_voxels = second.to_host(ctx);
  const Labels a{first_voxels.data(), first.extent()}, b{second_voxels.data(), second.extent()};
  const Eigen::Vector3d spacing = first.geometry().spacing;
  const std::vector<Box> boxes = boxes_of(a, b, labels);
  std::vector<SurfaceDistance> results(labels.size());
  std::vector<std::uint8_t> on_a, on_b;
  std::vector<double> squared;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    SurfaceDistance& r = results[i];
    r.label = labels[i];
    if (boxes[i].empty()) continue;
    r.first_surface_voxels = mark_surface(a, labels[i], boxes[i], ctx.threads(), on_a);
    r.second_surface_voxels = mark_surface(b, labels[i], boxes[i], ctx.threads(), on_b);
    if (r.first_surface_voxels == 0 || r.second_surface_voxels == 0) continue;
    const Extent box = boxes[i].extent();
    std::vector<double> there = directed(on_a, on_b, box, spacing, ctx.threads(), squared);
    std::vector<double> back = directed(on_b, on_a, box, spacing, ctx.threads(), squared);
    Moments all;
    r.hausdorff_mm = 0;
    for (const std::vector<double>* way : {&there, &back})
      for (const double d : *way) {
        all.add(d);
        r.hausdorff_mm = std::max(r.hausdorff_mm, d);
      }
    r.mean_mm = all.mean();
    r.hausdorff95_mm = std::max(percentile(there, 95), percentile(back, 95));
  }
  return results;
}

}  // namespace freeflow
