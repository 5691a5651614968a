// NaN around an object that was cut out, as SPM and masking write it. It is the object's
// background, whose edge guides a registration as a background of 0 does; NaN beyond a field of
// view is what was not measured.
#pragma once

#include <cstdint>
#include <vector>

#include <freeflow/core/geometry.h>

namespace freeflow {

/// Of an image of `n` voxels, x fastest: 1 for those without a finite value that reach the grid's
/// border by such voxels alone, 0 for the others, where what they leave is an object; empty where
/// there are none, or where they leave a convex part, as fields of view are and organs are not.
/// Holes in the object, such as a lesion's, are no part of its background.
std::vector<std::uint8_t> masked_background(const Extent& n, const float* voxels);

}  // namespace freeflow
