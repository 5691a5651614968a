// Private: the mathematics of exact_mean.h.
#pragma once

#include <cstdint>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>

namespace freeflow {

/// One voxel of all components: words are [component][voxel], then [voxel] counts, then one count
/// of images.
struct ExactAddBody {
  const float* values;
  std::int64_t* words;
  Extent extent;
  int components;
  double units;  // per value: a power of two, so that only the rounding to an integer rounds

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = extent.count(), i = extent.offset(x, y, z);
    if (i == 0) words[(components + 1) * n] += 1;
    for (int c = 0; c < components; ++c)
      if (!is_finite(values[i + c * n])) return;
    for (int c = 0; c < components; ++c) {
      const double v = units * double(values[i + c * n]);
      words[i + c * n] += std::int64_t(v < 0 ? v - 0.5 : v + 0.5);
    }
    words[i + components * n] += 1;
  }
};

struct AddWordsBody {
  std::int64_t* to;
  const std::int64_t* from;
  Extent extent;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = extent.offset(x, y, z);
    to[i] += from[i];
  }
};

struct ExactMeanBody {
  const std::int64_t* words;
  float* mean;
  Extent extent;
  int components;
  double unit;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = extent.count(), i = extent.offset(x, y, z);
    const double count = double(words[i + components * n]);
    for (int c = 0; c < components; ++c)
      mean[i + c * n] = count > 0 ? float(unit * (double(words[i + c * n]) / count)) : NAN;
  }
};

struct LargestMagnitudeBody : MaxBody {
  const float* values;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    const float v = values[i];
    return is_finite(v) ? double(v < 0 ? -v : v) : 0.0;
  }
};

}  // namespace freeflow
