#include <freeflow/io/transforms/itk.h>

#include <freeflow/core/error.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/hdf5.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

bool is_hdf5(const std::string& path) {
  return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}

void refuse_positions(const std::string& path, const HostField& field) {
  // SPM's fields have the same shape and hold RAS positions; in the units of `field`, voxels:
  const Eigen::Affine3d to_world = field.geometry.index_to_world();
  Eigen::Affine3d positions = swap_ras_lps() * to_world;
  positions = Eigen::Affine3d(to_world.linear().inverse()) * positions;
  if (spread_of(field.geometry.extent, field.planes, positions).looks_like_positions())
    fail_reading(path,
                 "its vectors are positions, as SPM writes them, not displacements; read it as "
                 "TransformFormat::spm");
}

}  // namespace

HostTransform read_itk(const std::string& path, const TransformContext& context) {
  size_of_readable_file(path);
  if (is_hdf5(path)) return read_hdf5(path, context.fixed);
  if (is_nifti(path) && read_nifti_header(path).intent_name == "Mapping")
    fail_reading(path, "it is named \"Mapping\", which is SPM's; read it as TransformFormat::spm");
  FileTransform read = read_transform(path, context.fixed);
  HostTransform transform;
  if (read.displacement) {
    if (is_image_format(path)) refuse_positions(path, *read.displacement);
    transform.warnings = std::move(read.displacement->warnings);
    read.displacement->warnings.clear();
    transform.steps.emplace_back(std::move(*read.displacement));
  }
  if (!read.displacement || !read.affine.matrix().isIdentity(0))
    transform.steps.emplace_back(read.affine);
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
