// regtool apply: images and labels through a chain of transforms, in one resampling.
#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <apps/bids.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/chain_memory.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/series_resampler.h>
#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/output_set.h>
#include <freeflow/io/stored_type.h>

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
  std::string reference, type;
  ResampleOptions resample;
  bool bids = false;
  RunOptions run;
};

std::string words_of_types() {
  std::string words;
  for (const auto& [word, type] : stored_type_words) {
    if (!words.empty()) words += '|';
    words += word;
  }
  return words;
}

std::optional<StoredType> chosen_type(const std::string& word) {
  if (word.empty()) return std::nullopt;
  for (const auto& [name, type] : stored_type_words)
    if (word == name) return type;
  throw InvalidArgument("--type '" + word + "' is not one of " + words_of_types());
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

/// False when the help was asked for.
bool parse(int argc, const char* const* argv, ApplyOptions& o) {
  po::options_description options("Options");
  options.add_options()  //
      ("input,i", po::value(&o.inputs)->multitoken()->value_name("IMAGE ..."),
       "images in the moving space: scalars, vectors or colours, of one volume or several")  //
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
       po::value(&o.resample.interpolation)
           ->default_value(o.resample.interpolation)
           ->value_name("linear|nearest|cubic|labels"),
       "labels: the label with the largest share of the eight voxels around, of any integer "
       "type")  //
      ("type", po::value(&o.type)->value_name("TYPE"),
       ("voxel type of the outputs, " + words_of_types() + "; default: the input's").c_str())  //
      ("fill", po::value(&o.resample.fill)->default_value(o.resample.fill, "0")->value_name("V"),
       "value where the moving image has none");
  add_run_options(options, o.run);
  po::variables_map found;
  return parse_regtool(argc, argv, summary, example, options, found);
}

void validate(ApplyOptions& o) {
  require(!o.inputs.empty(), "name the images with -i IMAGE");
  require(!o.reference.empty(), "name the image whose grid to resample onto with -r IMAGE");
  if (o.bids) o.outputs = bids_outputs(o);
  require(o.outputs.size() == o.inputs.size(), "-o names " + std::to_string(o.outputs.size()) +
                                                   " files for " + std::to_string(o.inputs.size()) +
                                                   " inputs; name one for each");
  const std::string& interpolation = o.resample.interpolation;
  require(interpolation == "linear" || interpolation == "nearest" || interpolation == "cubic" ||
              interpolation == "labels",
          "--interpolation '" + interpolation + "' is not one of linear, nearest, cubic, labels");
  o.resample.type = chosen_type(o.type);
}

/// Where each input goes: hidden until all are there.
std::vector<std::unique_ptr<OutputSet>> stage(const ApplyOptions& o) {
  std::vector<std::string> inputs = o.inputs;
  inputs.push_back(o.reference);
  for (const std::string& transform : o.transforms) inputs.push_back(listed_file(transform));
  std::vector<std::unique_ptr<OutputSet>> outputs;
  for (const std::string& output : o.outputs) {
    protect_inputs(output, inputs, {""});
    require(std::count(o.outputs.begin(), o.outputs.end(), output) == 1,
            "-o names '" + output + "' twice; name an output for each input");
    outputs.push_back(std::make_unique<OutputSet>(output));
  }
  return outputs;
}

/// Of `auto`: a GPU takes a quarter of a second to start, in which a core resamples some ten
/// million voxels. Both give the same bits.
std::string device_for(const ApplyOptions& o, int planes, const Geometry& grid) {
  constexpr double voxels_of_a_core = 1e7;
  const double voxels = double(grid.extent.count()) * planes * double(o.inputs.size());
  const double cost = o.resample.interpolation == "cubic" ? 8 : 1;
  const double cores = o.run.threads > 0 ? o.run.threads : std::thread::hardware_concurrency();
  return o.run.device == "auto" && cost * voxels < cores * voxels_of_a_core ? "cpu" : o.run.device;
}

}  // namespace

int regtool_apply(int argc, const char* const* argv) {
  ApplyOptions o;
  if (!parse(argc, argv, o)) return done;
  validate(o);
  const auto outputs = stage(o);
  std::vector<std::string> warnings;
  const Geometry grid = read_geometry(o.reference);
  auto reader = std::make_unique<SeriesReader>(o.inputs.front());
  const std::string device = device_for(o, reader->layout().planes(), grid);
  // The first use of a GPU takes a quarter of a second, in which files can be read.
  std::future<Context> starting =
      std::async(std::launch::async, [&] { return Context(Device::parse(device), o.run.threads); });
  const HostChain files =
      read_chain(o.transforms, {grid, reader->layout().geometry, o.inputs.front()}, warnings);
  reader->prefetch();
  Context ctx = starting.get();
  require_chain_memory(
      ctx, files, "resampling", sizeof(float) * grid.extent.count(),
      [&](Context& rehearsal, const Transform& transform) {
        SeriesResampler(rehearsal, o.resample, transform, grid).rehearse(reader->layout());
      });
  const Transform chain = to_transform(ctx, files, warnings);
  SeriesResampler resampler(ctx, o.resample, chain, grid);
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    if (i > 0) reader = std::make_unique<SeriesReader>(o.inputs[i]);
    resampler.run(*reader, o.inputs[i], outputs[i]->file(""), warnings);
  }
  for (const auto& output : outputs) output->place();
  for (const auto& output : outputs) output->keep();
  print_warnings("regtool", warnings, o.run.quiet);
  return done;
}

}  // namespace freeflow::apps
