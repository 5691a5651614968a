// regtool info: what a file holds.
#include <cstdio>

#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/report.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/transform_formats.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

void print_geometry(const Geometry& g) {
  std::printf("grid       %s\norigin     %g %g %g mm (LPS)\n", describe(g).c_str(), g.origin.x(),
              g.origin.y(), g.origin.z());
  for (int row = 0; row < 3; ++row)
    std::printf("%s %9.6f %9.6f %9.6f\n", row == 0 ? "direction " : "          ",
                g.direction(row, 0), g.direction(row, 1), g.direction(row, 2));
}

void print_field(Context& ctx, const HostField& field) {
  const DisplacementField u(ctx, field.geometry, field.planes);
  const JacobianStatistics j = jacobian_statistics(ctx, u);
  print_geometry(field.geometry);
  std::printf("length     %.3f mm on average\n", mean_length_mm(ctx, u));
  std::printf("Jacobian   %.4f to %.4f, at corners from %.4f, %zu folded voxels\n", j.min, j.max,
              j.corner_min, j.folded_voxels);
}

void print_affine(const Eigen::Affine3d& affine) {
  for (int row = 0; row < 3; ++row)
    std::printf("%s %10.6f %10.6f %10.6f %12.6f\n", row == 0 ? "affine    " : "          ",
                affine(row, 0), affine(row, 1), affine(row, 2), affine(row, 3));
  std::printf("volume     times %.6f\n", affine.linear().determinant());
}

/// Its steps in the order in which they take a fixed point to the moving one (mm, LPS).
void print_transform(Context& ctx, const HostTransform& t) {
  std::string holds;
  for (const auto& step : t.steps)
    holds +=
        (holds.empty() ? "" : ", then ") +
        std::string(std::holds_alternative<HostField>(step) ? "a displacement field" : "an affine");
  std::printf("holds      %s, fixed to moving (mm, LPS)\n", holds.c_str());
  for (const auto& step : t.steps)
    if (const auto* field = std::get_if<HostField>(&step))
      print_field(ctx, *field);
    else
      print_affine(std::get<Eigen::Affine3d>(step));
}

}  // namespace

int regtool_info(int argc, const char* const* argv) {
  std::string file;
  RunOptions run;
  po::options_description options("Options");
  options.add_options()("input,i", po::value(&file)->value_name("FILE"), "an image or a transform");
  add_run_options(options, run);
  po::variables_map found;
  std::vector<const char*> words(argv, argv + argc);
  if (argc == 2 && argv[1][0] != '-') words = {argv[0], "-i", argv[1]};  // regtool info FILE
  if (!parse_regtool(int(words.size()), words.data(),
                     "says what an image or a transform file holds.",
                     "Example:\n  regtool info out_1Warp.nii.gz\n", options, found))
    return done;
  require(!file.empty(), "name the file: regtool info FILE");
  std::printf("file       %s\n", file.c_str());
  std::vector<std::string> warnings;
  if (is_transform_file(file)) {
    Context ctx(Device::parse(run.device), run.threads);
    const HostTransform t = read_transform_file(file, TransformFormat::itk);
    print_transform(ctx, t);
    warnings = t.warnings;
  } else {
    const HostImage image = read_image(file);
    std::printf("holds      an image\n");
    print_geometry(image.geometry);
    float low = INFINITY, high = -INFINITY;
    for (const float v : image.voxels)
      if (v == v) low = std::min(low, v), high = std::max(high, v);
    std::printf("values     %g to %g, %zu voxels without a value\n", low, high,
                image.nonfinite_voxels);
    warnings = image.warnings;
  }
  for (const std::string& warning : warnings) std::printf("warning    %s\n", warning.c_str());
  return done;
}

}  // namespace freeflow::apps
