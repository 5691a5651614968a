#include <apps/measured_part.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace freeflow::apps {

namespace {

/// How many voxels of each slice across an axis hold something.
using Profile = std::vector<std::int64_t>;

/// What says that a voxel is background: its value, which may be NaN.
struct Background {
  float value;
  bool operator()(float v) const { return v == value || (std::isnan(value) && !std::isfinite(v)); }
};

/// The value that fills a side of the grid, as far as two corners and the middle show; a side where
/// they differ is not empty.
std::optional<Background> background_of_a_side(const HostImage& image, bool may_be_nan) {
  const Extent n = image.geometry.extent;
  const auto at = [&](std::array<int, 3> i) { return image.voxels[n.offset(i[0], i[1], i[2])]; };
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (const int end : {0, n[int(axis)] - 1}) {
      std::array<int, 3> first{0, 0, 0}, middle{n.x / 2, n.y / 2, n.z / 2},
          last{n.x - 1, n.y - 1, n.z - 1};
      first[axis] = middle[axis] = last[axis] = end;
      const Background background{at(first)};
      if (std::isnan(background.value) && !may_be_nan) continue;
      if (background(at(middle)) && background(at(last))) return background;
    }
  return std::nullopt;
}

std::array<Profile, 3> profiles(const HostImage& image, Background background) {
  const Extent n = image.geometry.extent;
  const auto nx = std::size_t(n.x), ny = std::size_t(n.y), nz = std::size_t(n.z);
  std::vector<std::int32_t> columns(nx * nz), rows(ny * nz);
#pragma omp parallel for schedule(static)
  for (std::int64_t z = 0; z < n.z; ++z) {
    std::int32_t* const of_x = columns.data() + std::size_t(z) * nx;
    for (int y = 0; y < n.y; ++y) {
      const float* const v = image.voxels.data() + n.offset(0, y, int(z));
      std::int32_t sum = 0;
      for (std::size_t x = 0; x < nx; ++x) {
        const std::int32_t holds = !background(v[x]);
        of_x[x] += holds;
        sum += holds;
      }
      rows[std::size_t(z) * ny + std::size_t(y)] = sum;
    }
  }
  std::array<Profile, 3> found{Profile(nx), Profile(ny), Profile(nz)};
  for (std::size_t z = 0; z < nz; ++z) {
    for (std::size_t x = 0; x < nx; ++x) found[0][x] += columns[z * nx + x];
    for (std::size_t y = 0; y < ny; ++y) {
      found[1][y] += rows[z * ny + y];
      found[2][z] += rows[z * ny + y];
    }
  }
  return found;
}

constexpr std::ptrdiff_t empty = 3;  // slices beyond an end

/// The first slice that holds something, where the object ends there in a plane; else 0.
template <class Iterator>
int plane_at(Iterator begin, Iterator end) {
  constexpr double share = 0.5;
  const double least = share * double(*std::max_element(begin, end));
  const Iterator first = std::find_if(begin, end, [](std::int64_t count) { return count > 0; });
  const bool plane = first - begin >= empty && end - first >= 2 && double(first[0]) >= least &&
                     double(first[1]) >= least;
  return plane ? int(first - begin) : 0;
}

/// Solid ones are objects: the middle row of a field of view has many values.
bool is_solid(const HostImage& image, const VoxelBox& box) {
  const auto middle = [&](std::size_t a) { return (box.begin[a] + box.end[a]) / 2; };
  const float* const row =
      image.voxels.data() + image.geometry.extent.offset(0, middle(1), middle(2));
  const std::ptrdiff_t same = std::count(row + box.begin[0], row + box.end[0], row[middle(0)]);
  return 2 * same > box.end[0] - box.begin[0];
}

/// The smallest box about all that holds something; empty where nothing does.
VoxelBox box_of(const std::array<Profile, 3>& found) {
  const auto holds = [](std::int64_t count) { return count > 0; };
  VoxelBox box{};
  for (std::size_t a = 0; a < 3; ++a) {
    const Profile& slices = found[a];
    box.begin[a] = int(std::find_if(slices.begin(), slices.end(), holds) - slices.begin());
    box.end[a] = int(slices.rend() - std::find_if(slices.rbegin(), slices.rend(), holds));
  }
  return box;
}

/// What differs from the background, where that fills a box within the grid.
std::optional<VoxelBox> filled_box(const HostImage& image, const std::array<Profile, 3>& found) {
  constexpr double filled = 0.85, least_share_of_grid = 0.1;
  const Extent n = image.geometry.extent;
  const VoxelBox box = box_of(found);
  bool within = false;
  for (std::size_t a = 0; a < 3; ++a)
    within = within || box.begin[a] >= empty || n[int(a)] - box.end[a] >= empty;
  if (!within || box.empty()) return std::nullopt;
  const double content = double(std::accumulate(found[0].begin(), found[0].end(), std::int64_t{0})),
               volume = double(box.extent().count());
  if (content < filled * volume || volume < least_share_of_grid * double(n.count()) ||
      is_solid(image, box))
    return std::nullopt;
  return box;
}

std::optional<MeasuredPart> part_of_unpadded(const HostImage& image, bool cut_out) {
  const std::optional<Background> background = background_of_a_side(image, cut_out);
  if (!background) return std::nullopt;
  const Extent n = image.geometry.extent;
  const std::array<Profile, 3> found = profiles(image, *background);
  if (const std::optional<VoxelBox> filled = filled_box(image, found))
    return MeasuredPart{*filled, true};
  VoxelBox box{{0, 0, 0}, {n.x, n.y, n.z}};
  int planes = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    box.begin[a] = plane_at(found[a].begin(), found[a].end());
    const int before_end = plane_at(found[a].rbegin(), found[a].rend());
    box.end[a] -= before_end;
    planes += (box.begin[a] > 0) + (before_end > 0);
  }
  if (planes < 1 || planes > 2) return std::nullopt;
  return MeasuredPart{box, false};
}

/// The voxels alone, without their place.
HostImage within(const HostImage& image, const VoxelBox& box) {
  HostImage inner;
  const Extent from = image.geometry.extent, n = inner.geometry.extent = box.extent();
  inner.voxels.resize(n.count());
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      std::copy_n(
          image.voxels.data() + from.offset(box.begin[0], box.begin[1] + y, box.begin[2] + z), n.x,
          inner.voxels.data() + n.offset(0, y, z));
  return inner;
}

}  // namespace

std::optional<MeasuredPart> measured_part(const HostImage& image, bool cut_out,
                                          std::optional<float> padding) {
  if (!padding) return part_of_unpadded(image, cut_out);
  const VoxelBox inner = box_of(profiles(image, Background{*padding}));
  if (inner.empty()) return std::nullopt;
  std::optional<MeasuredPart> part = part_of_unpadded(within(image, inner), cut_out);
  if (!part) return std::nullopt;
  for (std::size_t a = 0; a < 3; ++a) {
    part->box.begin[a] += inner.begin[a];
    part->box.end[a] += inner.begin[a];
  }
  return part;
}

std::string words_of(const VoxelBox& box, const Extent& grid) {
  std::string words;
  for (int a = 0; a < 3; ++a) {
    const int begin = box.begin[std::size_t(a)], end = box.end[std::size_t(a)];
    if (begin == 0 && end == grid[a]) continue;
    words += (words.empty() ? "" : ", ") + std::to_string(begin) + " to " +
             std::to_string(end - 1) + " of " + std::to_string(grid[a]) + " along " + "xyz"[a];
  }
  return words;
}

}  // namespace freeflow::apps
