// regtool apply: images and labels through a chain of transforms, in one resampling.
#include <algorithm>

#include <apps/bids.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>
#include <freeflow/transform/resample.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "resamples images and labels onto the grid of a reference through a chain of transforms,\n"
    "in one resampling whatever its length.";

constexpr const char* example =
    "Example: carry labels forth, onto the fixed image's grid, and back:\n"
    "  regtool apply -i moving_labels.nii.gz -r fixed.nii.gz --interpolation labels -o "
    "there.nii.gz \\\n"
    "    -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n"
    "  regtool apply -i fixed_labels.nii.gz -r moving.nii.gz --interpolation labels -o back.nii.gz "
    "\\\n"
    "    -t [out_0GenericAffine.mat,1] -t out_1InverseWarp.nii.gz\n"
    "-t lists the chain as antsApplyTransforms does; [FILE,1] is the inverse of FILE.\n"
    "BIDS names, here derivatives/sub-01_space-MNI152NLin2009cAsym_dseg.nii.gz:\n"
    "  regtool apply -i sub-01_dseg.nii.gz -r mni.nii.gz --interpolation labels --bids -o "
    "derivatives/ \\\n"
    "    -t sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5\n";

struct ApplyOptions {
  std::vector<std::string> inputs, outputs, transforms;
  std::string reference, interpolation = "linear";
  double fill = 0;
  bool bids = false;
  RunOptions run;
};

bool is_integer(StoredType type) {
  return type != StoredType::float32 && type != StoredType::float64;
}

void apply_to_labels(Context& ctx, const ApplyOptions& o, const std::string& from,
                     const std::string& to, const Transform& chain, const Geometry& grid,
                     LabelInterpolation interpolation, std::vector<std::string>& warnings) {
  HostLabels labels = read_labels(from);
  warnings.insert(warnings.end(), labels.warnings.begin(), labels.warnings.end());
  const auto background = std::uint64_t(std::int64_t(o.fill));
  const NumberedLabels<std::uint64_t> numbered = number_labels(labels.labels, background);
  std::int32_t outside = 0;
  while (numbered.of(outside) != background) ++outside;
  const std::vector<std::int32_t> resampled =
      resample_labels(ctx, Volume<std::int32_t>(ctx, labels.geometry, numbered.number), chain, grid,
                      interpolation, outside)
          .to_host(ctx);
  labels.geometry = grid;
  labels.labels.resize(resampled.size());
  for (std::size_t i = 0; i < resampled.size(); ++i) labels.labels[i] = numbered.of(resampled[i]);
  write_output(to, [&](const std::string& path) { write_labels(path, labels, ctx.threads()); });
}

void apply_to_image(Context& ctx, const ApplyOptions& o, const std::string& from,
                    const std::string& to, const Transform& chain, const Geometry& grid,
                    std::vector<std::string>& warnings) {
  const HostImage image = read_image(from);
  if (o.interpolation == "nearest" && is_integer(image.stored_type))
    return apply_to_labels(ctx, o, from, to, chain, grid, LabelInterpolation::nearest, warnings);
  warnings.insert(warnings.end(), image.warnings.begin(), image.warnings.end());
  const Interpolation interpolation = o.interpolation == "nearest" ? Interpolation::nearest
                                      : o.interpolation == "cubic" ? Interpolation::cubic
                                                                   : Interpolation::linear;
  const std::vector<float> resampled =
      resample(ctx, to_volume(ctx, image), chain, grid, interpolation, float(o.fill)).to_host(ctx);
  write_output(to, [&](const std::string& path) {
    write_image(path, grid, resampled, image.stored_type, ctx.threads());
  });
}

std::vector<std::string> bids_outputs(const ApplyOptions& o) {
  require(o.outputs.size() == 1,
          "--bids names the files: give -o one folder, or one start of the names");
  std::vector<std::string> said_by_read_chain, outputs;
  const BidsSpaces spaces = bids_spaces_of_chain(o.transforms, said_by_read_chain);
  require(!spaces.to.empty(),
          "--bids takes the space from the name of the first -t, which has none; name it as "
          "sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5, by regtool convert --bids, or "
          "name the output without --bids");
  for (const std::string& input : o.inputs) {
    const std::string output = bids_resampled(o.outputs[0], input, spaces);
    require(std::ranges::find(outputs, output) == outputs.end(),
            "--bids gives two inputs the name '" + output + "'; apply to them one by one");
    outputs.push_back(output);
  }
  return outputs;
}

}  // namespace

int regtool_apply(int argc, const char* const* argv) {
  ApplyOptions o;
  po::options_description options("Options");
  options.add_options()  //
      ("input,i", po::value(&o.inputs)->multitoken()->value_name("IMAGE ..."),
       "images in the moving space")  //
      ("reference,r", po::value(&o.reference)->value_name("IMAGE"),
       "the grid to resample onto: the fixed image")  //
      ("transform,t", po::value(&o.transforms)->composing()->value_name("FILE|[FILE,1]"),
       "fixed to moving, the first listed applied first to a fixed point")  //
      ("output,o", po::value(&o.outputs)->multitoken()->value_name("OUT ..."),
       "one for each input; with --bids one folder, or one start of the names")  //
      ("bids", po::bool_switch(&o.bids),
       "outputs named as BIDS derivatives, by the inputs' names and the space TO in those of -t "
       "(_from-FROM_to-TO_mode-image_xfm)")  //
      ("interpolation",
       po::value(&o.interpolation)
           ->default_value(o.interpolation)
           ->value_name("linear|nearest|cubic|labels"),
       "labels: the label with the largest share of the eight voxels around, of any integer "
       "type")  //
      ("fill", po::value(&o.fill)->default_value(o.fill, "0")->value_name("V"),
       "value where the moving image has none");
  add_run_options(options, o.run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return done;
  require(!o.inputs.empty(), "name the images with -i IMAGE");
  require(!o.reference.empty(), "name the image whose grid to resample onto with -r IMAGE");
  if (o.bids) o.outputs = bids_outputs(o);
  require(o.outputs.size() == o.inputs.size(), "-o names " + std::to_string(o.outputs.size()) +
                                                   " files for " + std::to_string(o.inputs.size()) +
                                                   " inputs; name one for each");
  require(o.interpolation == "linear" || o.interpolation == "nearest" ||
              o.interpolation == "cubic" || o.interpolation == "labels",
          "--interpolation '" + o.interpolation + "' is not one of linear, nearest, cubic, labels");
  std::vector<std::string> inputs = o.inputs;
  inputs.push_back(o.reference);
  for (const std::string& output : o.outputs) protect_inputs(output, inputs, {""});

  Context ctx(Device::parse(o.run.device), o.run.threads);
  std::vector<std::string> warnings;
  const Geometry grid = read_geometry(o.reference);
  const Transform chain = read_chain(ctx, o.transforms, warnings);
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    stop_if_interrupted();
    if (o.interpolation == "labels")
      apply_to_labels(ctx, o, o.inputs[i], o.outputs[i], chain, grid, LabelInterpolation::vote,
                      warnings);
    else
      apply_to_image(ctx, o, o.inputs[i], o.outputs[i], chain, grid, warnings);
  }
  print_warnings("regtool", warnings, o.run.quiet);
  return done;
}

}  // namespace freeflow::apps
