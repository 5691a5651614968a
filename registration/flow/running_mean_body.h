// Private: the mathematics of running_mean.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// mean += share * (u - mean); share 1: u.
struct RunningMeanBody {
  FieldView<const float> u;
  float share;
  FieldView<float> mean;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = u.extent.count(), i = u.extent.offset(x, y, z);
    for (int c = 0; c < 3; ++c) {
      float& m = mean.data[i + c * n];
      m = share == 1 ? u.data[i + c * n] : fma_(share, u.data[i + c * n] - m, m);
    }
  }
};

}  // namespace freeflow
