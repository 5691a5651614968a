// regtool compose, invert and jacobian: transforms as fields.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <variant>

#include <apps/one_stream.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/chain_memory.h>
#include <apps/regtool/commands.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/transform/transform_operations.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

/// When a command is told a grid.
enum class Grid { always, of_splines };

struct FieldCommand {
  std::string reference, moving, output;
  std::vector<std::string> transforms, warnings;
  RunOptions run;
  bool log = false;

  /// False when the help was asked for.
  bool parse(int argc, const char* const* argv, const char* summary, const char* example,
             Grid needed) {
    po::options_description options("Options");
    options.add_options()  //
        ("transform,t", po::value(&transforms)->composing()->value_name("FILE|[FILE,1]"),
         "fixed to moving, as regtool apply takes it")  //
        ("output,o", po::value(&output)->value_name("OUT"), "what is written");
    if (needed == Grid::always)
      options.add_options()("reference,r", po::value(&reference)->value_name("IMAGE"),
                            "the grid: the fixed image");
    else
      options.add_options()(
          "fixed", po::value(&reference)->value_name("IMAGE"),
          "the fixed image: for splines, which are evaluated on its grid, and for "
          "files that name no place, as FSL's")  //
          ("moving", po::value(&moving)->value_name("IMAGE"),
           "the moving image, on whose grid the inverse is written: needed where it begins with an "
           "affine and for FSL's files, wanted where the field leads beyond its own grid");
    if (std::string(argv[0]) == "jacobian")
      options.add_options()("log", po::bool_switch(&log), "its logarithm; NaN where it folds");
    add_run_options(options, run);
    po::variables_map found;
    if (!parse_regtool(argc, argv, summary, example, options, found)) return false;
    require(!transforms.empty(), "name the transform with -t FILE");
    require(!output.empty(), "name the output with -o OUT");
    require(needed == Grid::of_splines || !reference.empty(),
            "name the image whose grid to take with -r IMAGE");
    std::vector<std::string> inputs = transform_files(transforms);
    inputs.insert(inputs.end(), {reference, moving});
    protect_inputs(output, inputs, {""});
    return true;
  }
};

}  // namespace

int regtool_compose(int argc, const char* const* argv) {
  FieldCommand c;
  if (!c.parse(argc, argv, "writes a chain of transforms as one displacement field on a grid.",
               "Example: one file instead of two:\n"
               "  regtool compose -r fixed.nii.gz -t out_1Warp.nii.gz -t out_0GenericAffine.mat -o "
               "whole.nii.gz\n",
               Grid::always))
    return done;
  require_field_name(c.output);
  Context ctx = context_of_one_stream(c.run.device, c.run.threads);
  const Geometry grid = read_geometry(c.reference, c.warnings);
  const HostChain files = read_chain(c.transforms, {grid, {}, {}}, c.warnings);
  require_chain_memory(
      ctx, files, "composing the transforms", field_bytes(grid),
      [&](Context& rehearsal, const Transform& some) { compose(rehearsal, some, grid); });
  const Transform chain = to_transform(ctx, files, c.warnings);
  warn_of_reference_beyond(chain, {grid, {}, {}}, files.reached, c.warnings);
  const DisplacementField whole = compose(ctx, chain, grid);
  write_output(c.output, [&](const std::string& path) { write_displacement(ctx, path, whole); });
  print_warnings("regtool", c.warnings, c.run.quiet);
  return done;
}

namespace {

bool holds_field(const HostTransform& transform) {
  return std::ranges::any_of(
      transform.steps, [](const auto& step) { return std::holds_alternative<HostField>(step); });
}

/// Of a transform that holds a field: the moving image's, or the field's own where no affine behind
/// it leads to another space.
Geometry grid_of_inverse(const std::string& file, const HostTransform& of,
                         const std::optional<Geometry>& moving) {
  if (moving) return *moving;
  const auto leads_on =
      std::ranges::find_if(of.steps.rbegin(), of.steps.rend(), [](const auto& step) {
        const auto* affine = std::get_if<Eigen::Affine3d>(&step);
        return !affine || !affine->matrix().isIdentity(1e-9);
      });
  const auto* last = std::get_if<HostField>(&*leads_on);
  require(last, "the inverse of '" + file +
                    "' begins where its affine ends, in the moving image's space; name that image "
                    "with --moving IMAGE");
  return last->geometry;
}

/// The share of a field's grid that it takes beyond that grid, where an inverse on it has no place.
double share_that_leaves(const HostField& field) {
  const Extent n = field.geometry.extent;
  const std::size_t count = n.count();
  const auto within = [](double at, int size) { return at >= -0.5 && at <= size - 0.5; };
  std::size_t leaves = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const float* const u = field.planes.data() + n.offset(x, y, z);
        leaves += within(x + double(u[0]), n.x) && within(y + double(u[count]), n.y) &&
                          within(z + double(u[2 * count]), n.z)
                      ? 0
                      : 1;
      }
  return double(leaves) / double(count);
}

/// A deformation leads a rim beyond its grid, a shift or a scale that a field holds much more.
void warn_of_what_leaves(const std::string& path, const HostTransform& transform,
                         std::vector<std::string>& warnings) {
  for (const auto& step : transform.steps)
    if (const auto* field = std::get_if<HostField>(&step)) {
      const double share = share_that_leaves(*field);
      if (share > 0.25)
        warnings.push_back("'" + path + "' takes " + std::to_string(std::lround(100 * share)) +
                           " % of its grid beyond that grid, on which the inverse is written: name "
                           "the moving image with --moving");
    }
}

/// Which have no logarithm.
void warn_of_folds(const std::vector<float>& log_jacobian, std::vector<std::string>& warnings) {
  const auto folds = std::ranges::count_if(log_jacobian, [](float v) { return std::isnan(v); });
  if (folds > 0)
    warnings.push_back(std::to_string(folds) +
                       " voxels fold, where the logarithm is NaN; ITK reads NaN of NIfTI files as "
                       "0, of .nrrd and .mha as it is");
}

}  // namespace

int regtool_invert(int argc, const char* const* argv) {
  FieldCommand c;
  if (!c.parse(argc, argv,
               "inverts an affine or a displacement field; of a field the residual is measured.",
               "Example:\n  regtool invert -t out_1Warp.nii.gz -o inverse.nii.gz\n",
               Grid::of_splines))
    return done;
  require(c.transforms.size() == 1, "invert takes one -t; invert each, and list them in reverse");
  require(!listed_transform(c.transforms.front()).inverse,
          "invert takes FILE, not [FILE,1], whose inverse is FILE itself");
  Context ctx = context_of_one_stream(c.run.device, c.run.threads);
  ChainImages images;
  if (!c.reference.empty()) images.reference = read_geometry(c.reference, c.warnings);
  if (is_image_format(transform_files(c.transforms).front())) require_field_name(c.output);
  if (!c.moving.empty()) images.moving = read_geometry(c.moving, c.warnings);
  const std::optional<Geometry>& moving = images.moving;
  HostChain file = read_chain(c.transforms, images, c.warnings);
  HostTransform& listed = file.transforms.front();
  std::optional<Geometry> grid;
  if (holds_field(listed)) {
    require_field_name(c.output);
    grid = grid_of_inverse(c.transforms.front(), listed, moving);
    if (!moving) warn_of_what_leaves(c.transforms.front(), listed, c.warnings);
    split_affines(listed);
    file.on_ranges = moving.has_value();
  }
  require_chain_memory(ctx, file, "inverting the transform", largest_field_bytes(file),
                       [&](Context& rehearsal, const Transform& of) {
                         if (grid) compose(rehearsal, invert(rehearsal, of).transform, *grid);
                       });
  const Transform one = to_transform(ctx, file, c.warnings);
  const InverseTransform inverse = invert(ctx, one, interrupt_requested);
  if (!grid) {
    require(!moving || images.reference, "--moving names the grid of a field's inverse, and '" +
                                             c.transforms.front() + "' is an affine; leave it out");
    write_output(c.output, [&](const std::string& path) {
      write_affine(path, inverse.transform.first(), Eigen::Vector3d::Zero());
    });
  } else {
    require_inverse(c.transforms.front(), inverse);
    const DisplacementField field = compose(ctx, inverse.transform, *grid);
    write_output(c.output, [&](const std::string& path) { write_displacement(ctx, path, field); });
    std::printf("inverse residual: mean %.4f voxel, largest %.3f\n", inverse.mean_residual_voxels,
                inverse.largest_residual_voxels);
  }
  print_warnings("regtool", c.warnings, c.run.quiet);
  return done;
}

int regtool_jacobian(int argc, const char* const* argv) {
  FieldCommand c;
  if (!c.parse(argc, argv,
               "writes the Jacobian determinant of a chain, affines included: above 1 the moving\n"
               "object is larger there than the fixed one.",
               "Example:\n  regtool jacobian --log -r fixed.nii.gz -t out_1Warp.nii.gz -t "
               "out_0GenericAffine.mat -o log_j.nii.gz\n"
               "Leave the affine out for what the deformation adds to it.\n",
               Grid::always))
    return done;
  format_to_write(c.output);  // refuses it before anything is computed
  Context ctx = context_of_one_stream(c.run.device, c.run.threads);
  const Geometry grid = read_geometry(c.reference, c.warnings);
  const auto determinant = [&](Context& on, const Transform& chain) {
    return c.log ? log_jacobian(on, chain, grid) : jacobian_determinant(on, chain, grid);
  };
  const HostChain files = read_chain(c.transforms, {grid, {}, {}}, c.warnings);
  require_chain_memory(ctx, files, "the Jacobian determinant", sizeof(float) * grid.extent.count(),
                       determinant);
  const Transform whole = to_transform(ctx, files, c.warnings);
  warn_of_reference_beyond(whole, {grid, {}, {}}, files.reached, c.warnings);
  const Volume<float> j = determinant(ctx, whole);
  const std::vector<float> voxels = j.to_host(ctx);
  if (c.log) warn_of_folds(voxels, c.warnings);
  write_output(c.output, [&](const std::string& path) {
    write_image(path, grid, voxels, StoredType::float32, ctx.threads());
  });
  print_warnings("regtool", c.warnings, c.run.quiet);
  return done;
}

}  // namespace freeflow::apps
