#include <freeflow/io/transforms/mrtrix.h>

#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

bool is_mrtrix_image(const std::string& path) {
  return has_extension(path, ".mif") || has_extension(path, ".mif.gz") ||
         has_extension(path, ".mih");
}

}  // namespace

HostTransform read_mrtrix(const std::string& path, const TransformContext&) {
  size_of_readable_file(path);
  if (is_mrtrix_image(path))
    fail_reading(path, "MRtrix's own image format is not read; let mrconvert make a .nii.gz of it");
  HostTransform transform;
  if (!is_nifti(path)) {
    transform.steps.emplace_back(between_ras_and_lps(read_matrix_text(path)));
    return transform;
  }
  const VectorNifti file = require_vectors(path);
  require_placed(file);
  const Geometry grid = vector_grid(file, transform.warnings);
  const std::vector<float> planes = read_nifti_values(file.header);
  if (spread_of(grid.extent, planes, swap_ras_lps() * grid.index_to_world())
          .looks_like_displacements())
    fail_reading(path,
                 "its vectors are displacements, but MRtrix's warps are positions; let "
                 "warpconvert displacement2deformation make one of it");
  transform.steps.emplace_back(field_of_positions(path, grid, planes, true, transform.warnings));
  return transform;
}

void write_mrtrix(const std::string& path, const HostTransform& transform,
                  const TransformContext& context) {
  if (is_mrtrix_image(path))
    fail_writing(path,
                 "MRtrix's own image format is not written; write .nii.gz, which MRtrix reads");
  if (!is_nifti(path))
    return write_matrix_text(path, between_ras_and_lps(affine_to_write(path, transform)),
                             "# mrtrix_transform: written by FreeFlow\n");
  const GridMap map = grid_map(path, transform, context);
  write_vectors(path, map.grid, positions_of(map, true), {4, 0, "", 0});
}

}  // namespace freeflow
