// Private to io/transforms: the grids of B-spline coefficients of FNIRT, NiftyReg and ITK,
// evaluated.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow {

/// The centred B-spline of order 1 (linear), 2 or 3 (cubic) at x.
inline double bspline(int order, double x) {
  x = std::abs(x);
  if (order == 1) return x < 1 ? 1 - x : 0;
  if (order == 2) return x <= 0.5 ? 0.75 - x * x : x < 1.5 ? 0.5 * (1.5 - x) * (1.5 - x) : 0;
  if (x < 1) return 2. / 3 + x * x * (x / 2 - 1);
  return x < 2 ? (2 - x) * (2 - x) * (2 - x) / 6 : 0;
}

/// Sum of coefficients (three planes, x fastest) times the spline about each, at a position in
/// units of the lattice's indices; and the sum of the weights, which is less than 1 where the
/// lattice ends.
struct SplineSum {
  std::array<double, 3> value{};
  double weight = 0;
};

inline SplineSum spline_sum(const std::vector<float>& planes, const Extent& extent, int order,
                            const std::array<double, 3>& at) {
  constexpr int taps = 4;
  const std::array<int, 3> sides{extent.x, extent.y, extent.z};
  std::array<int, 3> first;
  std::array<std::array<double, taps>, 3> weights;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // Far beyond the lattice, where a damaged header may lead, every weight is 0.
    first[axis] = int(std::floor(std::max(-10.0, std::min(at[axis], sides[axis] + 10.0)))) - 1;
    for (int tap = 0; tap < taps; ++tap) {
      const int j = first[axis] + tap;
      weights[axis][std::size_t(tap)] =
          j >= 0 && j < sides[axis] ? bspline(order, at[axis] - j) : 0;
    }
  }
  const std::size_t count = extent.count();
  SplineSum sum;
  for (int k = 0; k < taps; ++k)
    for (int j = 0; j < taps; ++j) {
      const double row_weight = weights[2][std::size_t(k)] * weights[1][std::size_t(j)];
      if (row_weight == 0) continue;
      for (int i = 0; i < taps; ++i) {
        const double weight = row_weight * weights[0][std::size_t(i)];
        if (weight == 0) continue;
        const std::size_t at_index =
            (std::size_t(first[2] + k) * std::size_t(extent.y) + std::size_t(first[1] + j)) *
                std::size_t(extent.x) +
            std::size_t(first[0] + i);
        for (std::size_t component = 0; component < 3; ++component)
          sum.value[component] += weight * planes[component * count + at_index];
        sum.weight += weight;
      }
    }
  return sum;
}

/// The displacement of ITK's cubic spline at an index of its lattice: none where a coefficient that
/// reaches it is not in the lattice.
inline Eigen::Vector3d itk_displacement(const std::vector<float>& planes, const Extent& lattice,
                                        const Eigen::Vector3d& at) {
  constexpr double rounding = 1e-6;
  for (int axis = 0; axis < 3; ++axis)
    if (at[axis] < 1 - rounding || at[axis] > lattice[axis] - 2 + rounding)
      return Eigen::Vector3d::Zero();
  const SplineSum sum = spline_sum(planes, lattice, 3, {at.x(), at.y(), at.z()});
  return {sum.value[0], sum.value[1], sum.value[2]};
}

}  // namespace freeflow
