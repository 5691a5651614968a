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
  const Extent& n = grid.extent;
  const Eigen::Vector3d &o = grid.origin, &s = grid.spacing;
  const Eigen::Matrix3d& d = grid.direction;
  return {double(n.x), double(n.y), double(n.z), o.x(),   o.y(),   o.z(),
          s.x(),       s.y(),       s.z(),       d(0, 0), d(0, 1), d(0, 2),
          d(1, 0),     d(1, 1),     d(1, 2),     d(2, 0), d(2, 1), d(2, 2)};
}

}  // namespace freeflow
