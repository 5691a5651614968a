#include <freeflow/core/world_axes.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace freeflow {

Eigen::Matrix3d nearest_world_axes(const Eigen::Matrix3d& direction) {
  // The smaller the turn, the larger the sum of the cosines.
  std::array<int, 3> rows{0, 1, 2}, best = rows;
  double largest = -1;
  do {
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) sum += std::abs(direction(rows[std::size_t(axis)], axis));
    if (sum > largest) {
      largest = sum;
      best = rows;
    }
  } while (std::ranges::next_permutation(rows).found);
  Eigen::Matrix3d axes = Eigen::Matrix3d::Zero();
  for (int axis = 0; axis < 3; ++axis) {
    const int row = best[std::size_t(axis)];
    axes(row, axis) = direction(row, axis) < 0 ? -1 : 1;
  }
  return axes;
}

}  // namespace freeflow
