// Private: masking of a pyramid level.
#pragma once

#include <cmath>

#include <freeflow/core/reduce.h>

namespace freeflow {

/// Whether a voxel of a mask, or of a level of one, counts.
struct IsInside {
  VolumeView<const float> mask;
  const double* largest;  // of the mask on this level
  FREEFLOW_HD bool operator()(int x, int y, int z) const {
    // A thin mask may cover no coarse voxel by half; then those count that it covers best.
    const float threshold = *largest > 0.5 ? 0.5f : 0.5f * float(*largest);
    return mask(x, y, z) > threshold;
  }
};

struct MaskBody {
  VolumeView<float> image;
  IsInside is_inside;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    if (!is_inside(x, y, z)) image(x, y, z) = NAN;
  }
};

struct InsideMaskBody {
  VolumeView<float> out;
  IsInside is_inside;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    out(x, y, z) = is_inside(x, y, z) ? 1.0f : 0.0f;
  }
};

struct LargestMaskBody : MaxBody {
  const float* mask;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    return mask[i] > 0 ? double(mask[i]) : 0.0;
  }
};

}  // namespace freeflow
