#include <freeflow/io/transforms/fsl.h>

#include <cstdio>

#include <freeflow/core/error.h>
#include <freeflow/io/transforms/bspline.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

constexpr int intent_field = 2006, intent_cubic = 2007, intent_dct = 2008, intent_quadratic = 2009;

/// FSL counts x from the right: where the image does not, from its last voxel. It takes one that
/// declares no orientation to begin on the right, whatever others take (newimage's
/// left_right_order()).
bool x_flipped(const Geometry& grid) {
  return grid.space_code != 0 && grid.direction.determinant() > 0;
}

/// Voxel index to FSL's scaled millimetres.
Eigen::Affine3d scaled_of_index(const Geometry& grid) {
  Eigen::Affine3d scaled(Eigen::Scaling(grid.spacing));
  if (x_flipped(grid)) {
    scaled(0, 0) = -grid.spacing.x();
    scaled(0, 3) = (grid.extent.x - 1) * grid.spacing.x();
  }
  return scaled;
}

Eigen::Affine3d scaled_of_lps(const Geometry& grid) {
  return scaled_of_index(grid) * grid.world_to_index();
}

constexpr const char* moving_frame =
    "FSL's millimetres count from a corner of the moving image, so its geometry must be known";
constexpr const char* fixed_frame =
    "FSL's millimetres count from a corner of the fixed image, so its geometry must be known";

/// Where neither is known one sentence names both.
void need_an_image(const TransformContext& context, const std::string& path) {
  if (context.fixed || context.moving) return;
  throw GridUnknown("'" + path +
                    "' needs TransformContext::fixed and TransformContext::moving: FSL's "
                    "millimetres count from corners of both images, so their geometries must be "
                    "known");
}

HostTransform read_flirt(const std::string& path, const TransformContext& context) {
  const Eigen::Affine3d moving_to_fixed = read_matrix_text(path);
  need_an_image(context, path);
  const Geometry& fixed = need(context.fixed, path, "fixed", fixed_frame);
  const Geometry& moving = need(context.moving, path, "moving", moving_frame);
  HostTransform transform;
  transform.steps.emplace_back(scaled_of_lps(moving).inverse() * moving_to_fixed.inverse() *
                               scaled_of_lps(fixed));
  return transform;
}

bool are_positions(const std::string& path, const VectorNifti& file, const Geometry& grid,
                   const std::vector<float>& planes, VectorMeaning meaning,
                   std::vector<std::string>& warnings) {
  const Spread spread = spread_of(grid.extent, planes, scaled_of_index(grid));
  if (meaning != VectorMeaning::measured) {
    const bool positions = meaning == VectorMeaning::positions;
    if (positions ? spread.looks_like_displacements() : spread.looks_like_positions())
      fail_reading(
          path, std::string("its vectors are ") +
                    (positions ? "displacements, not positions" : "positions, not displacements") +
                    "; set TransformContext::vectors accordingly, or to measured");
    return positions;
  }
  bool positions = spread.looks_like_positions();
  if (!positions && !spread.looks_like_displacements()) {
    // FSL's own reader takes every field of this intent as displacements.
    if (file.header.intent_code != intent_field)
      fail_reading(path,
                   "its vectors may be displacements or positions; say which "
                   "(TransformContext::vectors)");
    positions = false;
  }
  char text[160];
  std::snprintf(text, sizeof text,
                "they vary by %.0f %% of what the grid's coordinates do, and by %.0f %% less these",
                100 * spread.alone, 100 * spread.less_grid);
  warnings.push_back("'" + path + "' does not say what its vectors are; taken as " +
                     (positions ? "positions (absolute)" : "displacements (relative)") + ": " +
                     text);
  return positions;
}

HostTransform read_field(const std::string& path, const VectorNifti& file,
                         const TransformContext& context) {
  HostTransform transform;
  const Geometry grid = vector_grid(file, transform.warnings);
  const Geometry& moving = need(context.moving, path, "moving", moving_frame);
  const std::vector<float> planes = read_nifti_values(file.header);
  const bool positions =
      are_positions(path, file, grid, planes, context.vectors, transform.warnings);
  const Eigen::Affine3d to_scaled = scaled_of_index(grid);
  const Eigen::Affine3d to_index = to_scaled.inverse();
  const std::size_t count = grid.extent.count();
  transform.steps.emplace_back(make_field(
      path, grid, transform.warnings, [&](std::size_t voxel, const Eigen::Vector3d& index) {
        const Eigen::Vector3d v(planes[voxel], planes[count + voxel], planes[2 * count + voxel]);
        return positions ? Eigen::Vector3d(to_index * v - index)
                         : Eigen::Vector3d(to_index.linear() * v);
      }));
  transform.steps.emplace_back(scaled_of_lps(moving).inverse() * scaled_of_lps(grid));
  return transform;
}

void require_reference(const std::string& path, const VectorNifti& file, const Geometry& fixed) {
  const std::array<int, 3> sides{fixed.extent.x, fixed.extent.y, fixed.extent.z};
  bool same = true;
  std::string shape, sizes;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    char text[64];
    std::snprintf(text, sizeof text, "%s%.0f", axis ? " x " : "", file.qform_offset[axis]);
    shape += text;
    std::snprintf(text, sizeof text, "%s%.4g", axis ? " x " : "", file.header.intent_p[axis]);
    sizes += text;
    same = same && std::abs(file.qform_offset[axis] - sides[axis]) < 0.5 &&
           std::abs(file.header.intent_p[axis] - fixed.spacing[Eigen::Index(axis)]) <
               1e-3 * fixed.spacing[Eigen::Index(axis)];
  }
  require(same, "'" + path + "' holds coefficients for a fixed image of " + shape + " voxels of " +
                    sizes + " mm, but TransformContext::fixed is another grid");
}

/// Coefficient j stands at voxel (j - 1) times the knot spacing, voxels counted in FSL's order of
/// x; at voxel j where the spacing is 1. The sform is the inverse of a linear part that is added.
HostTransform read_coefficients(const std::string& path, const VectorNifti& file,
                                const TransformContext& context) {
  need_an_image(context, path);
  const Geometry& fixed = need(context.fixed, path, "fixed",
                               "its coefficients are evaluated on the fixed image's grid");
  const Geometry& moving = need(context.moving, path, "moving", moving_frame);
  require_reference(path, file, fixed);
  std::array<double, 3> knots{};
  Eigen::Vector3d::Map(knots.data()) = file.header.voxel_size;
  for (const double spacing : knots)
    if (!(spacing >= 1 && spacing < 1e4))
      fail_reading(path, "its knot spacing is no number of voxels");
  const bool has_affine = file.header.sform_code > 0;
  // The header reader turns an sform into LPS rows; here it is a matrix of FSL's own frame.
  Eigen::Affine3d source_to_fixed = Eigen::Affine3d::Identity();
  if (has_affine) source_to_fixed = swap_ras_lps() * file.header.sform;
  if (std::abs(source_to_fixed.linear().determinant()) < 1e-12)
    fail_reading(path, "the linear part in its sform is singular");
  const Eigen::Affine3d linear = source_to_fixed.inverse();
  const std::vector<float> planes = read_nifti_values(file.header);
  const Extent lattice = file.header.extent();
  const int order = file.header.intent_code == intent_quadratic ? 2 : 3;
  const Eigen::Affine3d to_scaled = scaled_of_index(fixed);
  const Eigen::Affine3d to_index = to_scaled.inverse();
  const bool flipped = x_flipped(fixed);
  HostTransform transform;
  transform.steps.emplace_back(
      make_field(path, fixed, transform.warnings, [&](std::size_t, const Eigen::Vector3d& index) {
        std::array<double, 3> at;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double voxel =
              axis == 0 && flipped ? fixed.extent.x - 1 - index[0] : index[Eigen::Index(axis)];
          at[axis] = voxel / knots[axis] + (knots[axis] > 1 ? 1 : 0);
        }
        const SplineSum sum = spline_sum(planes, lattice, order, at);
        const Eigen::Vector3d d(sum.value[0], sum.value[1], sum.value[2]);
        return Eigen::Vector3d(to_index * (linear * (to_scaled * index) + d) - index);
      }));
  transform.steps.emplace_back(scaled_of_lps(moving).inverse() * scaled_of_lps(fixed));
  return transform;
}

}  // namespace

HostTransform read_fsl(const std::string& path, const TransformContext& context) {
  size_of_readable_file(path);
  if (!is_nifti(path)) return read_flirt(path, context);
  const VectorNifti file = require_vectors(path);
  const int intent = file.header.intent_code;
  if (intent == intent_dct)
    fail_reading(path,
                 "it holds coefficients of cosines (FNIRT's DCT); let fnirtfileutils --withaff "
                 "make a field of it");
  if (intent == intent_cubic || intent == intent_quadratic)
    return read_coefficients(path, file, context);
  return read_field(path, file, context);
}

void write_fsl(const std::string& path, const HostTransform& transform,
               const TransformContext& context) {
  if (!is_nifti(path)) {
    const Eigen::Affine3d affine = affine_to_write(path, transform);
    const Geometry& fixed = need(context.fixed, path, "fixed", fixed_frame);
    const Geometry& moving = need(context.moving, path, "moving", moving_frame);
    write_matrix_text(path,
                      (scaled_of_lps(moving) * affine * scaled_of_lps(fixed).inverse()).inverse());
    return;
  }
  GridMap map = grid_map(path, transform, context);
  if (context.fixed && same_grid(*context.fixed, map.grid))
    map.grid.space_code = context.fixed->space_code;  // whose x counts as the image's
  const Geometry& moving = need(context.moving, path, "moving", moving_frame);
  const Eigen::Affine3d to_scaled = scaled_of_index(map.grid);
  const Eigen::Affine3d moving_of_lps = scaled_of_lps(moving);
  // What is left once FSL has taken the two frames for each other; nothing for a field of its own.
  const Eigen::Affine3d after = moving_of_lps * map.after * scaled_of_lps(map.grid).inverse();
  const bool direct =
      map.field && (after.matrix() - Eigen::Matrix4d::Identity()).cwiseAbs().maxCoeff() < 1e-9;
  const bool positions = context.vectors == VectorMeaning::positions;
  const std::size_t count = map.grid.extent.count();
  std::vector<float> planes(3 * count);
  for_each_index(map.grid.extent, [&](std::size_t voxel, const Eigen::Vector3d& index) {
    Eigen::Vector3d v;
    if (direct && !positions)
      v = to_scaled.linear() * Eigen::Vector3d(map.field->planes[voxel],
                                               map.field->planes[count + voxel],
                                               map.field->planes[2 * count + voxel]);
    else
      v = moving_of_lps * map.position(voxel, index);
    if (!direct && !positions) v -= to_scaled * index;
    for (std::size_t component = 0; component < 3; ++component)
      planes[component * count + voxel] = float(v[Eigen::Index(component)]);
  });
  // FSL's programs take what has this intent as displacements, whatever they are told.
  const bool oriented = map.grid.space_code != 0;
  write_vectors(path, map.grid, planes, {4, positions ? 0 : intent_field, "", 0, oriented});
}

}  // namespace freeflow
