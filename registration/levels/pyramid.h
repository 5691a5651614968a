// A resolution pyramid. Factors are per axis, so that anisotropic images become isotropic first: a
// thin volume of 25 slices keeps its slices on every level.
#pragma once

#include <array>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

using Factors = std::array<int, 3>;

/// Decimation factors, coarse to fine; the last is {1, 1, 1}. Level l of n aims at isotropic voxels
/// of 2^(n-1-l) times the smallest spacing; factors are powers of two and never leave fewer than 8
/// voxels along an axis.
std::vector<Factors> pyramid_factors(const Geometry& geometry, int levels);

/// The first level that a nonrigid registration can trust: on fewer voxels chance decides, and the
/// levels after it keep what it did. Two of its axes have 33 voxels or more; 24, or else 15, where
/// that would leave the finest alone; and the finest, where none has.
int first_trusted_level(const Geometry& fixed, int levels);

/// Whether no two axes of that level have 33 voxels.
bool has_few_voxels(const Geometry& fixed, int level, int levels);

/// Those of the moving image: of its own pyramid, but where its voxels are the larger ones no
/// coarser than the level's, which would see nothing of what the fixed image shows there.
/// moving_per_fixed: lengths in the moving image per length in the fixed one, of the linear map.
std::vector<Factors> moving_pyramid_factors(const Geometry& moving, const Geometry& fixed,
                                            double moving_per_fixed, int levels);

/// Decimation towards voxels of `spacing_mm`, by the same rules.
Factors factors_towards(const Geometry& geometry, double spacing_mm);

/// Makes the voxels of a level NaN that lie outside its mask, on the same grid: at most 0.5; where
/// no voxel of the mask is above that, those that it covers best stay.
void apply_mask(Context& ctx, Volume<float>& image, const Volume<float>& mask);

/// 1 where a voxel of the mask counts, else 0: what the mask's levels are made of, as their
/// averages say how much of a voxel lies inside.
Volume<float> inside(Context& ctx, const Volume<float>& mask);

}  // namespace freeflow
