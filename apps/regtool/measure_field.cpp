// regtool measure: a displacement field by itself, and against its inverse.
#include <apps/html.h>
#include <apps/naming_convert.h>
#include <apps/regtool/measured.h>
#include <apps/report.h>
#include <freeflow/evaluation/field_quality.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

namespace freeflow::apps {

DisplacementField read_field(Context& ctx, const std::string& option, const std::string& path,
                             std::vector<std::string>& warnings) {
  const FileTransform file =
      read_naming_convert(path, TransformsTaken::itk, [&] { return read_transform(path); });
  require(file.displacement.has_value(), option + " '" + path + "' holds no displacement field");
  require(file.affine.isApprox(Eigen::Affine3d::Identity()),
          option + " '" + path +
              "' holds an affine besides the field; regtool compose makes one field of them");
  add_all(warnings, file.displacement->warnings);
  return DisplacementField(ctx, file.displacement->geometry, file.displacement->planes);
}

namespace {

double percent(std::size_t part, std::size_t whole) { return 100 * double(part) / double(whole); }

}  // namespace

Volume<float> read_mask_of(Context& ctx, const MeasureOptions& o, const DisplacementField& u,
                           std::vector<std::string>& warnings) {
  if (o.mask.empty()) return {};
  const HostImage image = read_image(o.mask);
  add_all(warnings, image.warnings);
  const std::string grid = is_image_format(o.field) ? o.field : "FIXED";
  require(same_grid(image.geometry, u.geometry()),
          "--mask '" + o.mask + "' does not share the grid of '" + o.field +
              "'; regtool apply -r " + grid + " --interpolation nearest takes it there");
  return to_volume(ctx, image);
}

Measured measure_field(Context& ctx, const MeasureOptions& o, const DisplacementField& u,
                       const Volume<float>& mask) {
  const FieldQuality q = field_quality(ctx, u, mask.empty() ? nullptr : &mask);
  require(q.voxels > 0, "--mask '" + o.mask + "' has no voxel above 0.5");
  std::string table = "field         " + describe(u.geometry()) + '\n';
  if (!o.mask.empty()) table += text("mask          %zu voxels\n", q.voxels);
  table += text("folded        %zu voxels by central differences (", q.folded_voxels) +
           cell(0, 4, percent(q.folded_voxels, q.voxels)) +
           text(" %%), %zu at a corner (", q.corner_folds) +
           cell(0, 4, percent(q.corner_folds, q.inner_voxels)) + " %)\n";
  table += text("Jacobian      %.4f to %.4f", q.jacobian_min, q.jacobian_max) +
           ", at corners from " + cell(0, 4, q.corner_jacobian_min) + '\n';
  table += "log Jacobian  mean " + cell(0, 4, q.mean_log_jacobian) + ", SD " +
           cell(0, 4, q.sd_log_jacobian) + '\n';
  const int digits = length_digits(u.geometry().spacing.minCoeff(), 3);
  table += "length        " + cell(0, digits, q.mean_mm) + " mm on average, " +
           cell(0, digits, q.max_mm) + " mm at most\n";
  return {table,
          {{"voxels", q.voxels},
           {"corner_folds", q.corner_folds},
           {"corner_folded_percent", percent(q.corner_folds, q.inner_voxels)},
           {"corner_jacobian_min", q.corner_jacobian_min},
           {"folded_voxels", q.folded_voxels},
           {"folded_percent", percent(q.folded_voxels, q.voxels)},
           {"jacobian_min", q.jacobian_min},
           {"jacobian_max", q.jacobian_max},
           {"sd_log_jacobian", q.sd_log_jacobian},
           {"mean_log_jacobian", q.mean_log_jacobian},
           {"mean_mm", q.mean_mm},
           {"max_mm", q.max_mm}}};
}

Measured measure_inverse(Context& ctx, const MeasureOptions& o, const DisplacementField& u,
                         const Volume<float>& mask, std::vector<std::string>& warnings) {
  const DisplacementField v = read_field(ctx, "--inverse", o.inverse, warnings);
  constexpr int margin = 4;
  const InverseQuality q = inverse_quality(ctx, u, v, margin, mask.empty() ? nullptr : &mask);
  const std::string found =
      q.voxels == 0
          ? text("not measured: no voxel %slies %d or more from the grid's border",
                 mask.empty() ? "" : "of the mask ", margin)
          : "residual " + cell(0, 4, q.mean_voxels) + " voxel on average, " +
                cell(0, 4, q.p99_voxels) + " for 99 %, " + cell(0, 4, q.max_voxels) + " at most";
  return {
      "inverse       " + found + '\n',
      {{"mean_voxels", q.mean_voxels}, {"p99_voxels", q.p99_voxels}, {"max_voxels", q.max_voxels}}};
}

}  // namespace freeflow::apps
