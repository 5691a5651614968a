#include <freeflow/registration/levels/pyramid.h>

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/levels/pyramid_body.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

Factors factors_towards(const Geometry& geometry, double spacing_mm) {
  constexpr int fewest_voxels = 8;
  Factors factors;
  for (int a = 0; a < 3; ++a) {
    int& f = factors[a];
    f = 1;
    // Doubles while that brings the spacing nearer to the target (in ratio) and leaves enough
    // voxels.
    while (geometry.spacing[a] * f * 1.4142 <= spacing_mm &&
           geometry.extent[a] / (2 * f) >= fewest_voxels)
      f *= 2;
  }
  return factors;
}

namespace {

double level_mm(const Geometry& geometry, int level, int levels) {
  return geometry.spacing.minCoeff() * double(1 << (levels - 1 - level));
}

constexpr int voxels_enough = 33;

/// Whether two axes of a level have so many voxels.
bool has_long_axes(const Geometry& fixed, const Factors& factors, int voxels) {
  int long_axes = 0;
  for (int a = 0; a < 3; ++a) long_axes += fixed.extent[a] / factors[a] >= voxels;
  return long_axes >= 2;
}

}  // namespace

std::vector<Factors> pyramid_factors(const Geometry& geometry, int levels) {
  std::vector<Factors> factors;
  factors.reserve(std::size_t(levels));
  for (int l = 0; l < levels; ++l)
    factors.push_back(factors_towards(geometry, level_mm(geometry, l, levels)));
  return factors;
}

int first_trusted_level(const Geometry& fixed, int levels) {
  const std::vector<Factors> factors = pyramid_factors(fixed, levels);
  for (const int fewest_voxels : {voxels_enough, 24, 15})
    for (int level = 0; level + 1 < levels; ++level)
      if (has_long_axes(fixed, factors[level], fewest_voxels)) return level;
  return levels - 1;
}

bool has_few_voxels(const Geometry& fixed, int level, int levels) {
  return !has_long_axes(fixed, pyramid_factors(fixed, levels)[level], voxels_enough);
}

std::vector<Factors> moving_pyramid_factors(const Geometry& moving, const Geometry& fixed,
                                            double moving_per_fixed, int levels) {
  std::vector<Factors> factors = pyramid_factors(moving, levels);
  for (int l = 0; l < levels; ++l) {
    const Factors enough = factors_towards(moving, moving_per_fixed * level_mm(fixed, l, levels));
    for (int a = 0; a < 3; ++a) factors[l][a] = std::min(factors[l][a], enough[a]);
  }
  return factors;
}

namespace {

Buffer<double> largest_of(Context& ctx, const Volume<float>& mask) {
  const ReduceWorkspace work(ctx, mask.extent().count(), 1);
  Buffer<double> largest(ctx, 1);
  reduce(ctx, mask.extent().count(), 1, LargestMaskBody{{}, mask.view().data}, work,
         largest.data());
  return largest;
}

}  // namespace

void apply_mask(Context& ctx, Volume<float>& image, const Volume<float>& mask) {
  require_on_device(ctx, image, mask);
  require(image.extent() == mask.extent(), "a level's mask has other voxels than its image");
  const Buffer<double> largest = largest_of(ctx, mask);
  for_each_voxel(ctx, image.extent(), MaskBody{image.view(), {mask.view(), largest.data()}});
}

Volume<float> inside(Context& ctx, const Volume<float>& mask) {
  require_on_device(ctx, mask);
  const Buffer<double> largest = largest_of(ctx, mask);
  Volume<float> out(ctx, mask.geometry());
  for_each_voxel(ctx, out.extent(), InsideMaskBody{out.view(), {mask.view(), largest.data()}});
  return out;
}

}  // namespace freeflow
