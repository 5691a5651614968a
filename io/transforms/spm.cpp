#include <freeflow/io/transforms/spm.h>

#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

HostTransform read_spm(const std::string& path, const TransformContext&) {
  size_of_readable_file(path);
  if (!is_nifti(path)) fail_reading(path, "SPM's deformations are NIfTI files (.nii)");
  const VectorNifti file = require_vectors(path);
  require_placed(file);
  HostTransform transform;
  const Geometry grid = vector_grid(file, transform.warnings);
  const std::vector<float> planes = read_nifti_values(file.header);
  const Spread spread = spread_of(grid.extent, planes, swap_ras_lps() * grid.index_to_world());
  if (file.header.intent_name != "Mapping") {
    if (spread.looks_like_displacements())
      fail_reading(path,
                   "its vectors are displacements, but SPM's are positions; read it as "
                   "TransformFormat::itk");
    transform.warnings.push_back("'" + path +
                                 "' lacks SPM's name \"Mapping\"; its vectors are taken as "
                                 "positions (RAS millimetres)");
  }
  transform.steps.emplace_back(field_of_positions(path, grid, planes, true, transform.warnings));
  return transform;
}

void write_spm(const std::string& path, const HostTransform& transform,
               const TransformContext& context) {
  constexpr int nifti_intent_vector = 1007;
  if (!is_nifti(path)) fail_writing(path, "SPM's deformations are NIfTI files (.nii)");
  const GridMap map = grid_map(path, transform, context);
  write_vectors(path, map.grid, positions_of(map, true), {5, nifti_intent_vector, "Mapping", 0});
}

}  // namespace freeflow
