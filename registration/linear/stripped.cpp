#include <freeflow/registration/linear/stripped.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <freeflow/deform/storage_order.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/levels/outliers.h>
#include <freeflow/registration/levels/pyramid.h>
#include <freeflow/registration/linear/linear.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

namespace {

constexpr float no_value = std::numeric_limits<float>::quiet_NaN();

/// A background of NaN is none: then all that has a value is content.
bool is_content(float v, float background) { return !std::isnan(v) && v != background; }

/// What has a value other than that of the corners, where they have one: in parts of the voxels,
/// and in mm^3.
struct Content {
  double share, volume;
};

Content content_of(const Context& ctx, const ImageOnHost& image) {
  const float background = corner_value(image).value_or(no_value);
  std::int64_t held = 0;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) reduction(+ : held)
  for (std::int64_t i = 0; i < std::int64_t(image.voxels.size()); ++i)
    held += is_content(image.voxels[std::size_t(i)], background);
  return {double(held) / double(image.voxels.size()), double(held) * image.grid.spacing.prod()};
}

/// How many of the grid's sides cut an object, but for little of it.
int sides_that_cut(const ImageOnHost& image, float background, double volume) {
  constexpr double little = 0.2;  // of a slice across a cube of its volume
  int cut = 0;
  const Extent n = image.grid.extent;
  for (int axis = 0; axis < 3; ++axis)
    for (const int end : {0, n[axis] - 1}) {
      const int u = axis == 0 ? n.y : n.x, v = axis == 2 ? n.y : n.z;
      std::int64_t held = 0;
      for (int b = 0; b < v; ++b)
        for (int a = 0; a < u; ++a) {
          const std::size_t i = axis == 0   ? n.offset(end, a, b)
                                : axis == 1 ? n.offset(a, end, b)
                                            : n.offset(a, b, end);
          held += is_content(image.voxels[i], background);
        }
      const double area = double(held) * image.grid.spacing.prod() / image.grid.spacing[axis];
      cut += area > little * std::pow(volume, 2.0 / 3);
    }
  return cut;
}

/// An object with one value around it, than which the other image may show more.
struct Candidate {
  float background;
  double volume;  ///< mm^3
  bool is_part;   ///< of an object, a slab say: more than one side of the grid cuts it
};

std::optional<Candidate> candidate(const Context& ctx, const ImageOnHost& image,
                                   const ImageOnHost& other) {
  constexpr double most_of_grid = 2.0 / 3;
  const std::optional<float> background = corner_value(image);
  if (!background) return std::nullopt;
  const Content content = content_of(ctx, image);
  if (content.share == 0 || content.share >= most_of_grid ||
      content_of(ctx, other).volume <= stripped_volume_ratio * content.volume)
    return std::nullopt;
  const bool is_part = sides_that_cut(image, *background, content.volume) > 1;
  return Candidate{*background, content.volume, is_part};
}

using Flags = std::vector<std::uint8_t>;

/// A copy in one order of the axes, however the image is stored, whose variation is not that of
/// single voxels.
class InOrder {
 public:
  InOrder(Context& ctx, const ImageOnHost& stored)
      : stored_(stored.grid), order_(canonical_order(stored.grid)),
        grid_(ordered(stored.grid, order_)), voxels_(stored.voxels.begin(), stored.voxels.end()) {
    if (!order_.as_stored())
      voxels_ = ordered(ctx, Volume<float>(ctx, stored_, voxels_), order_).to_host(ctx);
    cut_outliers(voxels_);
  }
  ImageOnHost image() const { return {grid_, voxels_}; }

  Flags as_stored(Context& ctx, const Flags& flags) const {
    if (order_.as_stored() || flags.empty()) return flags;
    const std::vector<float> in_order(flags.begin(), flags.end());
    const std::vector<float> voxels =
        freeflow::as_stored(ctx, Volume<float>(ctx, grid_, in_order), stored_, order_).to_host(ctx);
    return {voxels.begin(), voxels.end()};
  }

 private:
  Geometry stored_;
  StorageOrder order_;
  Geometry grid_;
  std::vector<float> voxels_;
};

/// On voxels of a thirtieth of the object's width, or as they come where they are larger.
struct Coarse {
  Geometry grid;
  std::vector<float> image;   ///< the background as it is
  std::vector<float> inside;  ///< what the object has there, without its background
  Flags object;               ///< where most of a voxel is
};

Volume<float> coarser(Context& ctx, const ImageOnHost& image, double spacing_mm) {
  Volume<float> whole(ctx, image.grid);
  ctx.copy_to_device(whole.view().data, image.voxels.data(), image.voxels.size_bytes());
  return decimate(ctx, whole, factors_towards(image.grid, spacing_mm));
}

Coarse coarse_object(Context& ctx, const ImageOnHost& image, const Flags& object,
                     double spacing_mm) {
  const Volume<float> small = coarser(ctx, image, spacing_mm);
  Coarse coarse{small.geometry(), small.to_host(ctx), {}, {}};
  std::vector<float> voxels(object.begin(), object.end());
  const std::vector<float> parts = coarser(ctx, {image.grid, voxels}, spacing_mm).to_host(ctx);
  for (std::size_t i = 0; i < voxels.size(); ++i)
    voxels[i] = object[i] ? image.voxels[i] : no_value;
  coarse.inside = coarser(ctx, {image.grid, voxels}, spacing_mm).to_host(ctx);
  coarse.object.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    coarse.object[i] = parts[i] > 0.5f;
    if (!coarse.object[i]) coarse.inside[i] = no_value;
  }
  return coarse;
}

/// With so many voxels more, by steps along the axes.
Flags dilated(Flags flags, const Extent& n, int voxels) {
  const std::size_t row = std::size_t(n.x), slice = row * std::size_t(n.y);
  for (int step = 0; step < voxels; ++step) {
    const Flags before = flags;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x) {
          const std::size_t i = n.offset(x, y, z);
          flags[i] = before[i] || (x > 0 && before[i - 1]) || (x + 1 < n.x && before[i + 1]) ||
                     (y > 0 && before[i - row]) || (y + 1 < n.y && before[i + row]) ||
                     (z > 0 && before[i - slice]) || (z + 1 < n.z && before[i + slice]);
        }
  }
  return flags;
}

/// Mean length of the steps to the next voxels where the flags stand; 0 where no voxel has a value.
double variation(const Extent& n, const std::vector<float>& image, const Flags& flags) {
  double sum = 0;
  std::int64_t count = 0;
  for (int z = 0; z + 1 < n.z; ++z)
    for (int y = 0; y + 1 < n.y; ++y)
      for (int x = 0; x + 1 < n.x; ++x) {
        const std::size_t i = n.offset(x, y, z), row = std::size_t(n.x), slice = row * n.y;
        if (!flags[i]) continue;
        const float dx = image[i + 1] - image[i], dy = image[i + row] - image[i],
                    dz = image[i + slice] - image[i];
        const float length = std::sqrt(dx * dx + dy * dy + dz * dz);
        if (std::isnan(length)) continue;
        sum += length;
        ++count;
      }
  return count > 0 ? sum / double(count) : 0;
}

/// Squared correlation of blocks of 4x4x4 voxels within the object, on average: how much of its
/// structure the other shows in the same place.
double shared_structure(const Coarse& coarse, const std::vector<float>& other) {
  constexpr int side = 4, least = side * side * side / 2;
  const Extent n = coarse.grid.extent;
  double sum = 0, weight = 0;
  for (int bz = 0; bz < n.z; bz += side)
    for (int by = 0; by < n.y; by += side)
      for (int bx = 0; bx < n.x; bx += side) {
        double a = 0, b = 0, aa = 0, bb = 0, ab = 0, count = 0, held = 0;
        for (int z = bz; z < std::min(bz + side, n.z); ++z)
          for (int y = by; y < std::min(by + side, n.y); ++y)
            for (int x = bx; x < std::min(bx + side, n.x); ++x) {
              const std::size_t i = n.offset(x, y, z);
              if (!coarse.object[i]) continue;
              ++held;
              const double p = coarse.inside[i], q = other[i];
              if (std::isnan(p) || std::isnan(q)) continue;
              ++count;
              a += p, b += q, aa += p * p, bb += q * q, ab += p * q;
            }
        if (held < least) continue;
        weight += held;
        if (count < least) continue;
        const double va = aa - a * a / count, vb = bb - b * b / count, c = ab - a * b / count;
        if (va > 0 && vb > 0) sum += held * c * c / (va * vb);
      }
  return weight > 0 ? sum / weight : 0;
}

/// The other image as the object sees it.
struct Aligned {
  std::vector<float> other;
  double structure;  ///< that the two share
};

Aligned aligned(Context& ctx, const Coarse& coarse, const std::vector<float>& fixed,
                const Volume<float>& other) {
  LinearOptions options;
  options.levels = 2;
  const Volume<float> volume(ctx, coarse.grid, fixed);
  const Eigen::Affine3d found = register_linear(ctx, volume, other, options).affine;
  Aligned result{
      warp(ctx, other, coarse.grid, found, nullptr, Interpolation::linear, no_value).to_host(ctx),
      0};
  result.structure = shared_structure(coarse, result.other);
  return result;
}

/// How much the other image varies a tenth of the object's width beyond its edge, in parts of how
/// much it does within.
double shown_around(const Coarse& coarse, const std::vector<float>& other) {
  constexpr int nearest = 2, farthest = 5;  // voxels
  const Extent n = coarse.grid.extent;
  const Flags near = dilated(coarse.object, n, nearest);
  Flags shell = dilated(near, n, farthest - nearest);
  for (std::size_t i = 0; i < shell.size(); ++i)
    shell[i] = shell[i] && !near[i] && !std::isnan(coarse.image[i]);
  return variation(n, other, shell) / variation(n, other, coarse.object);
}

/// The flags of the coarse grid at the voxels that it was decimated from, by the nearest middle.
Flags on_grid(const Geometry& grid, const Flags& flags, const Geometry& coarse) {
  const Extent n = grid.extent, m = coarse.extent;
  const Eigen::Affine3d to_coarse = coarse.world_to_index() * grid.index_to_world();
  const auto nearest = [&](int axis) {
    std::vector<int> at;
    for (int i = 0; i < n[axis]; ++i) {
      const double middle = to_coarse.linear()(axis, axis) * i + to_coarse.translation()[axis];
      at.push_back(std::clamp(int(std::lround(middle)), 0, m[axis] - 1));
    }
    return at;
  };
  const std::vector<int> xs = nearest(0), ys = nearest(1), zs = nearest(2);
  Flags result(n.count());
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x)
        result[n.offset(x, y, z)] =
            flags[m.offset(xs[std::size_t(x)], ys[std::size_t(y)], zs[std::size_t(z)])];
  return result;
}

Flags what_counts(Context& ctx, const ImageOnHost& image, const ImageOnHost& other,
                  const Candidate& found) {
  constexpr double across = 30, least_structure = 0.25, as_well = 0.9;
  Flags object(image.voxels.size());
  std::ranges::transform(image.voxels, object.begin(),
                         [&](float v) { return is_content(v, found.background); });
  const double spacing_mm = std::cbrt(found.volume) / across;
  const Coarse coarse = coarse_object(ctx, image, object, spacing_mm);
  const Volume<float> whole = coarser(ctx, other, spacing_mm);
  const Aligned by_inside = aligned(ctx, coarse, coarse.inside, whole),
                by_all = aligned(ctx, coarse, coarse.image, whole);
  const double most = std::max(by_inside.structure, by_all.structure);
  if (found.is_part && most < least_structure) return {};  // it may lie anywhere
  // A part that lies a little too high or low has more of the same object beyond its edge.
  const double as_much = found.is_part ? 1.1 : 0.5;
  const std::vector<float>& best = by_inside.structure < most ? by_all.other : by_inside.other;
  if (!(shown_around(coarse, best) > as_much)) return {};
  if (most >= least_structure && by_inside.structure >= as_well * most) return object;
  constexpr int margin = 3;  // voxels
  const Flags with_margin =
      on_grid(image.grid, dilated(coarse.object, coarse.grid.extent, margin), coarse.grid);
  for (std::size_t i = 0; i < object.size(); ++i) object[i] = object[i] || with_margin[i];
  return object;
}

}  // namespace

std::optional<float> corner_value(const ImageOnHost& image, std::optional<float> without) {
  const Extent n = image.grid.extent;
  std::optional<float> value;
  for (const int x : {0, n.x - 1})
    for (const int y : {0, n.y - 1})
      for (const int z : {0, n.z - 1}) {
        const float corner = image.voxels[n.offset(x, y, z)];
        if (std::isnan(corner) || corner == without) continue;
        if (value && corner != *value) return std::nullopt;
        value = corner;
      }
  return value;
}

std::vector<std::uint8_t> stripped_object(Context& ctx, const ImageOnHost& image,
                                          const ImageOnHost& other) {
  const std::optional<Candidate> found = candidate(ctx, image, other);
  if (!found) return {};
  try {
    const InOrder one(ctx, image), two(ctx, other);
    return one.as_stored(ctx, what_counts(ctx, one.image(), two.image(), *found));
  } catch (const RegistrationError&) {  // the registration itself will say what is wrong
    return {};
  }
}

}  // namespace freeflow
