// The robust intensity range of an image: a low and a high percentile of its finite voxels.
#pragma once

#include <freeflow/core/volume.h>

namespace freeflow {

struct IntensityRange {
  float low = 0, high = 1;
};

/// The values below which `tail` and above which `tail` of the finite voxels lie, to 1/4096 of the
/// full range or finer where outliers stretch that. When those two coincide (a sparse image) the
/// full range. Throws RegistrationError naming `what` when no finite voxel is left or all are
/// equal. Waits.
IntensityRange robust_range(Context& ctx, const Volume<float>& image, const char* what,
                            double tail = 0.001);

}  // namespace freeflow
