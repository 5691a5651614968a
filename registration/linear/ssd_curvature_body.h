// Private: the sums of ssd_curvature.h: products of two gradient components and two coordinates, by
// rows.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/core/reduce_rows.h>

namespace freeflow {

/// The six pairs of components a <= b: xx, xy, xz, yy, yz, zz.
FREEFLOW_HD int first_of_pair(int pair) { return pair < 3 ? 0 : pair < 5 ? 1 : 2; }
FREEFLOW_HD int second_of_pair(int pair) { return pair < 3 ? pair : pair < 5 ? pair - 2 : 2; }

/// Terms 3 * pair + power: g_a g_b x^power; the last: squared differences.
struct GradientRowBody {
  static constexpr int terms = 19;
  const float *fixed, *warped, *gradient;
  std::size_t count;
  FREEFLOW_HD void operator()(int x, std::size_t i, double (&v)[terms]) const {
    const float difference = fixed[i] - warped[i];
    const bool counts = difference - difference == 0.0f;
    double g[3];
    for (int c = 0; c < 3; ++c) g[c] = counts ? double(gradient[i + c * count]) : 0.0;
    for (int pair = 0; pair < 6; ++pair) {
      v[3 * pair] = g[first_of_pair(pair)] * g[second_of_pair(pair)];
      v[3 * pair + 1] = double(x) * v[3 * pair];
      v[3 * pair + 2] = double(x) * v[3 * pair + 1];
    }
    v[18] = counts ? double(difference) * double(difference) : 0.0;
  }
};

/// Terms 10 * pair + k: the pair with the k-th of xx, xy, xz, x, yy, yz, y, zz, z, 1; the last:
/// squared differences.
struct GradientMomentBody : SumBody {
  static constexpr int terms = 61;
  const double* rows;
  Extent extent;
  FREEFLOW_HD double operator()(std::size_t row, int term) const {
    const std::size_t n = std::size_t(extent.y) * extent.z;
    if (term == 60) return rows[18 * n + row];
    const int pair = term / 10, k = term % 10;
    const double y = double(int(row) % extent.y), z = double(int(row) / extent.y);
    const double sum = rows[(3 * pair + (k == 0 ? 2 : k < 4 ? 1 : 0)) * n + row];
    switch (k) {
      case 1: return sum * y;
      case 2: return sum * z;
      case 4: return sum * y * y;
      case 5: return sum * y * z;
      case 6: return sum * y;
      case 7: return sum * z * z;
      case 8: return sum * z;
      default: return sum;
    }
  }
};

}  // namespace freeflow
