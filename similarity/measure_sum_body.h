// Private: the sums of measure_sum.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// force = own_weight * force + weight * further
struct AddForceBody {
  const float* further;
  float own_weight, weight;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = force.extent.count(), i = force.extent.offset(x, y, z);
    for (int c = 0; c < 3; ++c) {
      float& f = force.data[i + c * n];
      f = fma_(weight, further[i + c * n], own_weight * f);
    }
  }
};

/// out = before + weight * further; the first has nothing before it
struct AddCostBody {
  const double *further, *before;
  double* out;
  double weight;
  bool first;
  FREEFLOW_HD void operator()(int, int, int) const {
    *out = weight * *further + (first ? 0.0 : *before);
  }
};

}  // namespace freeflow
