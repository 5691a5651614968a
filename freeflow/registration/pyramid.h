// A resolution pyramid. Factors are per axis, so that anisotropic images become isotropic first: a thin volume of 25 slices
// keeps its slices on every level.
#pragma once

#include <array>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

using Factors = std::array<int, 3>;

/// Decimation factors, coarse to fine; the last is {1, 1, 1}. Level l of n aims at isotropic voxels of 2^(n-1-l) times the
/// smallest spacing; factors are powers of two and never leave fewer than 8 voxels along an axis.
std::vector<Factors> pyramid_factors(const Geometry& geometry, int levels);

/// Decimation towards voxels of `spacing_mm`, by the same rules.
Factors factors_towards(const Geometry& geometry, double spacing_mm);

/// One level of an image, with the voxels outside the mask set to NaN. mask: an image on the same grid as `image` whose
/// voxels above 0.5 count, or null; on a level where it covers no voxel by half, those that it covers best.
Volume<float> pyramid_level(Context& ctx, const Volume<float>& image, const Volume<float>* mask, const Factors& factor);

}  // namespace freeflow
