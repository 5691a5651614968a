// Private: the sums of affine_gradient.h.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/core/reduce_rows.h>

namespace freeflow {

/// Terms 2 c and 2 c + 1: force_c and x * force_c.
struct ForceRowBody {
  static constexpr int terms = 6;
  const float* force;
  std::size_t count;
  FREEFLOW_HD void operator()(int x, std::size_t i, double (&v)[terms]) const {
    for (int c = 0; c < 3; ++c) {
      v[2 * c] = double(force[i + c * count]);
      v[2 * c + 1] = double(x) * v[2 * c];
    }
  }
};

/// Term 4 c + k from the rows' sums.
struct ForceMomentBody : SumBody {
  const double* rows;
  Extent extent;
  FREEFLOW_HD double operator()(std::size_t row, int term) const {
    const int c = term / 4, k = term % 4;
    const std::size_t n = std::size_t(extent.y) * extent.z;
    const double sum = rows[(2 * c + (k == 0 ? 1 : 0)) * n + row];
    if (k == 1) return double(int(row) % extent.y) * sum;
    if (k == 2) return double(int(row) / extent.y) * sum;
    return sum;
  }
};

}  // namespace freeflow
