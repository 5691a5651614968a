#include <freeflow/registration/pyramid.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/pyramid_body.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

Factors factors_towards(const Geometry& geometry, double spacing_mm) {
  constexpr int fewest_voxels = 8;
  Factors factors;
  for (int a = 0; a < 3; ++a) {
    int& f = factors[a];
    f = 1;
    // Doubles while that brings the spacing nearer to the target (in ratio) and leaves enough voxels.
    while (geometry.spacing[a] * f * 1.4142 <= spacing_mm && geometry.extent[a] / (2 * f) >= fewest_voxels) f *= 2;
  }
  return factors;
}

std::vector<Factors> pyramid_factors(const Geometry& geometry, int levels) {
  std::vector<Factors> factors;
  for (int l = 0; l < levels; ++l)
    factors.push_back(factors_towards(geometry, geometry.spacing.minCoeff() * double(1 << (levels - 1 - l))));
  return factors;
}

Volume<float> pyramid_level(Context& ctx, const Volume<float>& image, const Volume<float>* mask, const Factors& factor) {
  Volume<float> level = decimate(ctx, image, factor);
  if (mask) {
    require(same_grid(mask->geometry(), image.geometry()), "a mask must lie on the grid of its image");
    const Volume<float> level_mask = decimate(ctx, *mask, factor);
    const ReduceWorkspace work(ctx, level.extent().count(), 1);
    const Buffer<double> largest(ctx, 1);
    reduce(ctx, level.extent().count(), 1, LargestMaskBody{{}, level_mask.view().data}, work, largest.data());
    for_each_voxel(ctx, level.extent(), MaskBody{level.view(), level_mask.view(), largest.data()});
  }
  return level;
}

}  // namespace freeflow
