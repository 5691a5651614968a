#include <freeflow/io/transforms/host_transform.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace freeflow {

Eigen::Vector3d displace_point(const HostField& field, const Eigen::Vector3d& lps_mm) {
  const Eigen::Affine3d to_world = field.geometry.index_to_world();
  const Eigen::Vector3d at = to_world.inverse() * lps_mm;
  const Extent& extent = field.geometry.extent;
  const std::array<int, 3> sides{extent.x, extent.y, extent.z};
  std::array<std::array<std::size_t, 2>, 3> index;
  std::array<double, 3> along;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double position = at[Eigen::Index(axis)];
    if (!(position >= -0.5 && position < sides[axis] - 0.5)) return lps_mm;
    const double within = std::clamp(position, 0.0, sides[axis] - 1.0);
    const int lower = std::min(int(within), std::max(sides[axis] - 2, 0));
    index[axis] = {std::size_t(lower), std::size_t(std::min(lower + 1, sides[axis] - 1))};
    along[axis] = within - lower;
  }
  const std::size_t count = extent.count();
  Eigen::Vector3d voxels = Eigen::Vector3d::Zero();
  for (std::size_t corner = 0; corner < 8; ++corner) {
    const std::array<std::size_t, 3> upper{corner & 1, corner >> 1 & 1, corner >> 2};
    double weight = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      weight *= upper[axis] ? along[axis] : 1 - along[axis];
    const std::size_t voxel =
        (index[2][upper[2]] * std::size_t(extent.y) + index[1][upper[1]]) * std::size_t(extent.x) +
        index[0][upper[0]];
    for (std::size_t component = 0; component < 3; ++component)
      voxels[Eigen::Index(component)] += weight * field.planes[component * count + voxel];
  }
  return lps_mm + to_world.linear() * voxels;
}

Eigen::Vector3d map_point(const HostTransform& transform, const Eigen::Vector3d& lps_mm) {
  Eigen::Vector3d point = lps_mm;
  for (const auto& step : transform.steps)
    if (const auto* field = std::get_if<HostField>(&step))
      point = displace_point(*field, point);
    else
      point = std::get<Eigen::Affine3d>(step) * point;
  return point;
}

}  // namespace freeflow
