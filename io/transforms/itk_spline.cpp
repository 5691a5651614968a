#include <freeflow/io/transforms/itk_spline.h>

#include <algorithm>
#include <array>

#include <freeflow/io/hdf5_transform.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/spline_file.h>
#include <freeflow/io/transforms/bspline.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/stored_grid.h>

namespace freeflow {

HostField field_of_spline(const std::string& path, const StoredTransform& spline,
                          const Geometry& grid, std::vector<std::string>& warnings) {
  const Geometry lattice = grid_of(path, spline, warnings);
  const std::vector<float> mm(spline.parameters.begin(), spline.parameters.end());
  const Eigen::Affine3d to_lattice = lattice.world_to_index() * grid.index_to_world();
  const Eigen::Matrix3d to_voxels = grid.world_to_index().linear();
  return make_field(path, grid, warnings, [&](std::size_t, const Eigen::Vector3d& index) {
    return (to_voxels * itk_displacement(mm, lattice.extent, to_lattice * index)).eval();
  });
}

HostSpline to_host(Context& ctx, const ControlPointGrid& lattice) {
  const Geometry inner = lattice.geometry();
  HostSpline spline{inner, {}};
  Geometry& grid = spline.lattice;
  grid.extent = {inner.extent.x + 2, inner.extent.y + 2, inner.extent.z + 2};
  grid.origin -= grid.direction * grid.spacing;
  const std::vector<float> along_axes = lattice.coefficients().to_host(ctx);
  const std::size_t count = grid.extent.count(), inner_count = inner.extent.count();
  spline.planes.resize(3 * count);
  for_each_index(grid.extent, [&](std::size_t point, const Eigen::Vector3d& index) {
    const auto inside = [&](int axis) {
      return std::size_t(std::clamp(int(index[axis]) - 1, 0, inner.extent[axis] - 1));
    };
    const std::size_t from =
        (inside(2) * std::size_t(inner.extent.y) + inside(1)) * std::size_t(inner.extent.x) +
        inside(0);
    const Eigen::Vector3d mm =
        grid.direction * Eigen::Vector3d(along_axes[from], along_axes[inner_count + from],
                                         along_axes[2 * inner_count + from]);
    for (std::size_t component = 0; component < 3; ++component)
      spline.planes[component * count + point] = float(mm[Eigen::Index(component)]);
  });
  return spline;
}

void write_spline(const std::string& path, const HostSpline& spline) {
  write_stored_transforms(path, {{"BSplineTransform_float_3_3",
                                  numbers_of(spline.lattice),
                                  {spline.planes.begin(), spline.planes.end()}}});
}

}  // namespace freeflow
