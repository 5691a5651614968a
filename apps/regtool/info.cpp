// regtool info: what a file holds.
#include <cstdio>

#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/report.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

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

void print_transform(Context& ctx, const FileTransform& t) {
  const bool moves = !t.affine.isApprox(Eigen::Affine3d::Identity(), 0);
  if (t.displacement) {
    const DisplacementField u(ctx, t.displacement->geometry, t.displacement->planes);
    const JacobianStatistics j = jacobian_statistics(ctx, u);
    std::printf("holds      a displacement field%s\n", moves ? ", then an affine" : "");
    print_geometry(t.displacement->geometry);
    std::printf("length     %.3f mm on average\n", mean_length_mm(ctx, u));
    std::printf("Jacobian   %.4f to %.4f, %zu folded voxels\n", j.min, j.max, j.folded_voxels);
  } else {
    std::printf("holds      an affine, fixed to moving (mm, LPS)\n");
  }
  if (moves || !t.displacement) {
    for (int row = 0; row < 3; ++row)
      std::printf("%s %10.6f %10.6f %10.6f %12.6f\n", row == 0 ? "affine    " : "          ",
                  t.affine(row, 0), t.affine(row, 1), t.affine(row, 2), t.affine(row, 3));
    std::printf("volume     times %.6f\n", t.affine.linear().determinant());
  }
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
    const FileTransform t = read_transform(file);
    print_transform(ctx, t);
    if (t.displacement) warnings = t.displacement->warnings;
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
