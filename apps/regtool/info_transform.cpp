// What regtool info says of a transform.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <variant>

#include <Eigen/SVD>

#include <apps/regtool/info.h>
#include <freeflow/evaluation/field_quality.h>

namespace freeflow::apps {

namespace {

/// What the vectors of a field of that format are in its file, and how that is known.
const char* vectors_of(TransformFormat format) {
  switch (format) {
    case TransformFormat::itk: return "displacements in mm, LPS, by ITK's convention";
    case TransformFormat::fsl:
      return "mm of FSL's scaled voxels; displacements or positions, as measured, or spline "
             "coefficients";
    case TransformFormat::niftyreg:
      return "mm, RAS; displacements, positions or a spline grid, as its intent_p1 says";
    case TransformFormat::spm: return "positions in mm, RAS, by SPM's convention";
    case TransformFormat::afni: return "displacements in mm, LPS, by AFNI's convention";
    case TransformFormat::freesurfer: return "positions of a morph's nodes, as its header says";
    case TransformFormat::mrtrix: return "positions in mm, RAS, by MRtrix's convention";
    case TransformFormat::elastix: return "control points of a cubic B-spline in mm, LPS";
  }
  return "unknown";
}

void print_affine(const Eigen::Affine3d& affine, const Eigen::Vector3d& centre, const char* whose) {
  print_matrix("affine", affine);
  const double volume = affine.linear().determinant();
  print_line("volume", "times %.6f%s", std::abs(volume), volume < 0 ? ", mirrored" : "");
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(affine.linear(),
                                              Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Matrix3d rotation = svd.matrixU() * svd.matrixV().transpose();
  if (volume < 0) rotation = -rotation;
  const Eigen::AngleAxisd turn(rotation);
  print_line("rotation", "%.4f degrees about (%.4f, %.4f, %.4f)",
             turn.angle() * 180 / std::numbers::pi, turn.axis().x(), turn.axis().y(),
             turn.axis().z());
  const Eigen::Vector3d scales =
      (svd.matrixU().transpose() * affine.linear() * svd.matrixV()).diagonal();
  print_line("scales", "%.6f %.6f %.6f along three perpendicular axes", scales[0], scales[1],
             scales[2]);
  const Eigen::Vector3d shift = affine * centre - centre;
  print_line("shift", "%.4f %.4f %.4f mm (%.4f) of %s (%g %g %g)", shift.x(), shift.y(), shift.z(),
             shift.norm(), whose, centre.x(), centre.y(), centre.z());
}

void print_field(Context& ctx, const HostField& field) {
  print_grid(field.geometry);
  const Eigen::Matrix3d to_mm = field.geometry.index_to_world().linear();
  const std::size_t count = field.geometry.extent.count();
  Eigen::Array3d low = Eigen::Array3d::Constant(INFINITY), high = -low;
  for (std::size_t i = 0; i < count; ++i) {
    const Eigen::Vector3d u = to_mm * Eigen::Vector3d(field.planes[i], field.planes[count + i],
                                                      field.planes[2 * count + i]);
    low = low.min(u.array());
    high = high.max(u.array());
  }
  const FieldQuality q = field_quality(ctx, DisplacementField(ctx, field.geometry, field.planes));
  print_line("length", "%.4f mm on average, %.4f at most", q.mean_mm, q.max_mm);
  print_line("range", "%.4f to %.4f mm left, %.4f to %.4f posterior, %.4f to %.4f superior", low[0],
             high[0], low[1], high[1], low[2], high[2]);
  print_line("Jacobian", "%.4f to %.4f by central differences; %zu of %zu voxels fold",
             q.jacobian_min, q.jacobian_max, q.folded_voxels, q.voxels);
  if (q.inner_voxels > 0)
    print_line("at corners", "from %.4f; %zu of %zu inner voxels fold", q.corner_jacobian_min,
               q.corner_folds, q.inner_voxels);
}

/// The first field's grid, which stands for the fixed image's where that is not known.
const Geometry* first_grid(const HostTransform& transform) {
  for (const auto& step : transform.steps)
    if (const auto* field = std::get_if<HostField>(&step)) return &field->geometry;
  return nullptr;
}

}  // namespace

void print_transform(Context& ctx, TransformFormat format, const HostTransform& transform,
                     const Geometry* fixed) {
  const char* whose = "the fixed image's centre";
  if (!fixed) {
    fixed = first_grid(transform);
    whose = fixed ? "the centre of the field's grid" : "the world's origin";
  }
  const Eigen::Vector3d centre = fixed ? fixed->center() : Eigen::Vector3d(0, 0, 0);
  if (first_grid(transform)) print_line("vectors", "in the file: %s", vectors_of(format));
  print_line("steps", "%zu%s", transform.steps.size(),
             transform.steps.size() > 1 ? ", the first applied first to a fixed point"
             : transform.steps.empty()  ? ": the identity"
                                        : "");
  int number = 0;
  for (const auto& step : transform.steps) {
    const auto* field = std::get_if<HostField>(&step);
    std::printf("\n");
    print_line(("step " + std::to_string(++number)).c_str(), "%s",
               field ? "a displacement field" : "an affine");
    if (field)
      print_field(ctx, *field);
    else
      print_affine(std::get<Eigen::Affine3d>(step), centre, whose);
  }
  if (number > 1) {
    const Eigen::Vector3d to = map_point(transform, centre);
    std::printf("\n");
    print_line("in all", "%s (%g %g %g) goes to (%.4f %.4f %.4f)", whose, centre.x(), centre.y(),
               centre.z(), to.x(), to.y(), to.z());
  }
}

}  // namespace freeflow::apps
