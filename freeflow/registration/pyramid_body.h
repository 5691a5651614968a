// Private: masking of a pyramid level.
#pragma once

#include <cmath>

#include <freeflow/core/views.h>

namespace freeflow {

struct MaskBody {
  VolumeView<float> image;
  VolumeView<const float> mask;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    if (!(mask(x, y, z) > 0.5f)) image(x, y, z) = NAN;
  }
};

}  // namespace freeflow
