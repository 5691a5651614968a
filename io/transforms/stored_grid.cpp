#include <freeflow/io/transforms/stored_grid.h>

#include <array>
#include <cstdint>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/orientation.h>

namespace freeflow {

Geometry grid_of(const std::string& path, const StoredTransform& stored,
                 std::vector<std::string>& warnings) {
  const std::vector<double>& fixed = stored.fixed;
  Geometry grid;
  const std::array<std::int64_t, 3> sizes{std::int64_t(fixed[0]), std::int64_t(fixed[1]),
                                          std::int64_t(fixed[2])};
  count_voxels(path, sizes);
  grid.extent = {int(sizes[0]), int(sizes[1]), int(sizes[2])};
  require_volume(path, grid.extent);
  grid.origin = Eigen::Map<const Eigen::Vector3d>(fixed.data() + 3);
  grid.spacing = Eigen::Map<const Eigen::Vector3d>(fixed.data() + 6);
  grid.direction = Eigen::Map<const Eigen::Matrix3d>(fixed.data() + 9).transpose();
  make_orthonormal(path, grid, warnings);
  return grid;
}

std::vector<double> numbers_of(const Geometry& grid) {
  std::vector<double> numbers;
  for (int axis = 0; axis < 3; ++axis) numbers.push_back(grid.extent[axis]);
  for (int axis = 0; axis < 3; ++axis) numbers.push_back(grid.origin[axis]);
  for (int axis = 0; axis < 3; ++axis) numbers.push_back(grid.spacing[axis]);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) numbers.push_back(grid.direction(row, column));
  return numbers;
}

}  // namespace freeflow
