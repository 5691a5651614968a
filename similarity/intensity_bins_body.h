// Private: from intensities to bins, for the measures that have bins. NaN and infinity have none.
#pragma once

#include <cmath>
#include <cstdint>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

namespace freeflow {

/// Intensity to hard bin; clipped to the range.
struct FixedBinBody {
  VolumeView<const float> image;
  VolumeView<std::uint16_t> bin;
  float low, bins_per_unit;
  int bins;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = image(x, y, z), b = (v - low) * bins_per_unit;
    const float top = float(bins - 1), c = b > 0.0f ? (b < top ? b : top) : 0.0f;
    const float above = c + 0.5f;  // whose whole part is the nearest bin
    bin(x, y, z) = v - v == 0.0f ? std::uint16_t(int(above)) : SampledPair::no_bin;
  }
};

/// Intensity to continuous bin in [1, bins - 2], so that the Parzen window stays on the axis;
/// clipped to the range.
struct MovingBinBody {
  VolumeView<const float> image;
  VolumeView<float> bin;
  float low, bins_per_unit;
  int bins;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = image(x, y, z), b = fma_(v - low, bins_per_unit, 1.0f), top = float(bins - 2);
    bin(x, y, z) = v - v == 0.0f ? (b > 1.0f ? (b < top ? b : top) : 1.0f) : NAN;
  }
};

}  // namespace freeflow
