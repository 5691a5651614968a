#include <freeflow/io/transforms/itk.h>

#include <freeflow/core/error.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/hdf5.h>

namespace freeflow {

namespace {

bool is_hdf5(const std::string& path) {
  return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}

}  // namespace

HostTransform read_itk(const std::string& path, const TransformContext& context) {
  size_of_readable_file(path);
  if (!is_image_format(path)) return read_transform_chain(path, context.fixed);
  HostField field = read_displacement(path);
  HostTransform transform;
  transform.warnings = std::move(field.warnings);
  field.warnings.clear();
  transform.steps.emplace_back(std::move(field));
  return transform;
}

void write_itk(const std::string& path, const HostTransform& transform,
               const TransformContext& context) {
  if (is_hdf5(path)) return write_hdf5(path, transform);
  if (!is_image_format(path)) {
    const Eigen::Vector3d center =
        context.fixed ? context.fixed->center() : Eigen::Vector3d::Zero().eval();
    return write_affine(path, affine_to_write(path, transform), center);
  }
  const GridMap map = grid_map(path, transform, context);
  if (map.field && map.after.matrix().isIdentity(0))
    return write_displacement(path, map.grid, map.field->planes);
  const Eigen::Affine3d to_index = map.grid.world_to_index();
  std::vector<std::string> none;
  const HostField whole =
      make_field(path, map.grid, none, [&](std::size_t voxel, const Eigen::Vector3d& index) {
        return Eigen::Vector3d(to_index * map.position(voxel, index) - index);
      });
  write_displacement(path, whole.geometry, whole.planes);
}

}  // namespace freeflow
