#include <freeflow/io/transforms/niftyreg.h>

#include <atomic>
#include <limits>

#include <freeflow/io/transforms/bspline.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

enum Kind {
  positions = 0,
  displacements = 1,
  cubic_grid = 2,
  velocity_positions = 3,
  velocity_displacements = 4,
  velocity_grid = 5,
  linear_grid = 6
};
constexpr int nifti_intent_vector = 1007;

/// No number of Kind where the header has none.
int kind_of(const NiftiHeader& header) {
  const float number = header.intent_p[0];
  return number >= 0 && number < 100 ? int(number) : -1;
}

/// Control points hold positions; the grid's own orientation says where they stand.
HostField spline_field(const std::string& path, const VectorNifti& file, const Geometry& lattice,
                       int order, const TransformContext& context,
                       std::vector<std::string>& warnings) {
  const Geometry& fixed = need(context.fixed, path, "fixed",
                               "its control points are evaluated on the fixed image's grid");
  const std::vector<float> planes = read_nifti_values(file.header);
  const Eigen::Affine3d to_lattice = lattice.world_to_index() * fixed.index_to_world();
  const Eigen::Affine3d to_index = fixed.world_to_index();
  std::atomic<bool> covered = true;
  HostField field =
      make_field(path, fixed, warnings, [&](std::size_t, const Eigen::Vector3d& index) {
        const Eigen::Vector3d at = to_lattice * index;
        const SplineSum sum =
            spline_sum(planes, file.header.extent(), order, {at.x(), at.y(), at.z()});
        if (sum.weight < 1 - 1e-4) covered = false;
        const double whole = sum.weight > 0 ? sum.weight : 1;
        const Eigen::Vector3d lps(-sum.value[0] / whole, -sum.value[1] / whole,
                                  sum.value[2] / whole);
        return Eigen::Vector3d(to_index * lps - index);
      });
  if (!covered)
    fail_reading(path,
                 "its control points do not cover the grid of TransformContext::fixed; give the "
                 "reference image of that registration");
  return field;
}

HostField displacement_field(const std::string& path, const Geometry& grid,
                             const std::vector<float>& planes, std::vector<std::string>& warnings) {
  const Eigen::Matrix3d to_voxels = grid.world_to_index().linear();
  const std::size_t count = grid.extent.count();
  return make_field(path, grid, warnings, [&](std::size_t voxel, const Eigen::Vector3d&) {
    return Eigen::Vector3d(to_voxels * Eigen::Vector3d(-planes[voxel], -planes[count + voxel],
                                                       planes[2 * count + voxel]));
  });
}

}  // namespace

HostTransform read_niftyreg(const std::string& path, const TransformContext& context) {
  size_of_readable_file(path);
  HostTransform transform;
  if (!is_nifti(path)) {
    transform.steps.emplace_back(between_ras_and_lps(read_matrix_text(path)));
    return transform;
  }
  const VectorNifti file = require_vectors(path);
  if (!file.header.intent_name.starts_with("NREG"))
    fail_reading(path, "it is not named NREG_TRANS, so it is no transform of NiftyReg's");
  const int kind = kind_of(file.header);
  if (kind >= positions) require_placed(file);
  const Geometry grid = vector_grid(file, transform.warnings);
  auto& warnings = transform.warnings;
  switch (kind) {
    case positions:
      transform.steps.emplace_back(
          field_of_positions(path, grid, read_nifti_values(file.header), true, warnings));
      break;
    case displacements:
      transform.steps.emplace_back(
          displacement_field(path, grid, read_nifti_values(file.header), warnings));
      break;
    case cubic_grid:
    case linear_grid:
      transform.steps.emplace_back(
          spline_field(path, file, grid, kind == cubic_grid ? 3 : 1, context, warnings));
      break;
    case velocity_positions:
    case velocity_displacements:
    case velocity_grid:
      fail_reading(path,
                   "it holds a velocity, which has to be integrated; let reg_transform -def make "
                   "a deformation field of it");
    default: fail_reading(path, "its kind of transform (intent_p1) is none that NiftyReg defines");
  }
  return transform;
}

void write_niftyreg(const std::string& path, const HostTransform& transform,
                    const TransformContext& context) {
  if (!is_nifti(path))
    return write_matrix_text(path, between_ras_and_lps(affine_to_write(path, transform)));
  const GridMap map = grid_map(path, transform, context);
  write_vectors(path, map.grid, positions_of(map, true),
                {5, nifti_intent_vector, "NREG_TRANS", positions});
}

}  // namespace freeflow
