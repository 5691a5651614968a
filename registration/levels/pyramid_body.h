// Private: masking of a pyramid level.
#pragma once

#include <cmath>

#include <freeflow/core/reduce.h>

namespace freeflow {

struct MaskBody {
  VolumeView<float> image;
  VolumeView<const float> mask;
  const double* largest;  // of the mask on this level
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    // A thin mask may cover no coarse voxel by half; then those count that it covers best.
    const float threshold = *largest > 0.5 ? 0.5f : 0.5f * float(*largest);
    if (!(mask(x, y, z) > threshold)) image(x, y, z) = NAN;
  }
};

struct LargestMaskBody : MaxBody {
  const float* mask;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    return mask[i] > 0 ? double(mask[i]) : 0.0;
  }
};

}  // namespace freeflow
