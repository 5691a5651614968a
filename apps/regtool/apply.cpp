// regtool apply: images and labels through a chain of transforms, in one resampling.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include <apps/bids.h>
#include <apps/cohort.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/apply_run.h>
#include <apps/regtool/commands.h>
#include <apps/table.h>
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/stored_type.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "resamples images and labels onto the grid of a reference through a chain of transforms,\n"
    "in one resampling whatever its length.";

constexpr const char* example =
    "Example: carry labels forth, onto the fixed image's grid, and back:\n"
    "  regtool apply -i moving_labels.nii.gz -r fixed.nii.gz --interpolation labels \\\n"
    "    -o there.nii.gz -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n"
    "  regtool apply -i fixed_labels.nii.gz -r moving.nii.gz --interpolation labels \\\n"
    "    -o back.nii.gz -t \"[out_0GenericAffine.mat,1]\" -t out_1InverseWarp.nii.gz\n"
    "-t lists the chain as antsApplyTransforms does; [FILE,1] is the inverse of FILE.\n"
    "BIDS names, here derivatives/sub-01_space-MNI152NLin2009cAsym_dseg.nii.gz:\n"
    "  regtool apply -i sub-01_dseg.nii.gz -r mni.nii.gz --interpolation labels \\\n"
    "    --bids -o derivatives/ -t sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5\n";

const std::vector<std::string> transform_columns = {"transform",  "transform2", "transform3",
                                                    "transform4", "transform5", "transform6",
                                                    "transform7", "transform8", "transform9"};

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

std::optional<double> chosen_fill(const std::string& word) {
  if (word == "min") return std::nullopt;
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, value);
  require(read.ec == std::errc() && read.ptr == end,
          "--fill '" + word + "' is neither a number nor min");
  return value;
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
bool parse(int argc, const char* const* argv, ApplyOptions& o, po::variables_map& found) {
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
       "outputs named as BIDS derivatives, by the inputs' names and the space TO of "
       "_from-FROM_to-TO_mode-image_xfm in those of -t")  //
      ("interpolation",
       po::value(&o.resample.interpolation)
           ->default_value(o.resample.interpolation)
           ->value_name("linear|nearest|cubic|labels"),
       "labels: the label with the largest share of the eight voxels around, of any integer "
       "type")  //
      ("type", po::value(&o.type)->value_name(words_of_types()),
       "voxel type of the outputs; default: the input's")  //
      ("fill", po::value(&o.fill)->default_value(o.fill)->value_name("V|min"),
       "value where the moving image has none; min: its smallest one, as CT wants it");
  options.add_options()  //
      ("pairs", po::value(&o.pairs)->value_name("FILE.tsv"),
       "a table instead of -i, -r, -t, -o: columns input, reference, output, transform and, where "
       "the chain is longer, transform2 to transform9, paths relative to it; what is done and made "
       "of the same contents and options is left as it is, as OUT.made.json says")(
          "summary", po::value(&o.summary)->value_name("FILE.tsv"),
          "with --pairs: how each of them ended")(
          "jobs", po::value(&o.jobs)->default_value(o.jobs, "automatic")->value_name("N"),
          "with --pairs: how many are resampled at a time, 6 by a GPU and 1 by a CPU");
  add_run_options(options, o.run);
  return parse_regtool(argc, argv, summary, example, options, found);
}

/// The same however it is spelled, where there is one to be found.
std::filesystem::path place_of(const std::string& output) {
  std::error_code error;
  const std::filesystem::path place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(output, error), error);
  return error ? std::filesystem::path(output) : place;
}

void validate_files(ApplyOptions& o) {
  require(!o.inputs.empty(), "name the images with -i IMAGE");
  require(!o.reference.empty(), "name the image whose grid to resample onto with -r IMAGE");
  require(std::ranges::find(o.outputs, "") == o.outputs.end(), "name the output with -o OUT");
  if (o.bids) o.outputs = bids_outputs(o);
  require(o.outputs.size() == o.inputs.size(), "-o names " + std::to_string(o.outputs.size()) +
                                                   " files for " + std::to_string(o.inputs.size()) +
                                                   " inputs; name one for each");
  std::set<std::filesystem::path> places;
  for (const std::string& output : o.outputs) {
    protect_inputs(output, input_files(o), {""});
    require(places.insert(place_of(output)).second,
            "-o names '" + output + "' twice; name an output for each input");
  }
}

void validate(ApplyOptions& o) {
  const std::string& interpolation = o.resample.interpolation;
  require(interpolation == "linear" || interpolation == "nearest" || interpolation == "cubic" ||
              interpolation == "labels",
          "--interpolation '" + interpolation + "' is not one of linear, nearest, cubic, labels");
  o.resample.type = chosen_type(o.type);
  o.resample.fill = chosen_fill(o.fill);
  require(o.jobs >= 0 && o.jobs <= 64, "--jobs must lie between 0 (automatic) and 64");
}

ApplyOptions options_of(const ApplyOptions& all, const TableRow& row) {
  ApplyOptions o = all;
  const auto path = [&](const std::string& text) { return path_in_table(all.pairs, text); };
  o.inputs = {path(row.cells.at("input"))};
  o.reference = path(row.cells.at("reference"));
  o.outputs = {path(row.cells.at("output"))};
  for (const std::string& column : transform_columns) {
    if (!row.cells.contains(column)) continue;
    const ListedTransform listed = listed_transform(row.cells.at(column));
    o.transforms.push_back(path(listed.path));
    if (listed.inverse) o.transforms.back().insert(0, 1, '[').append(",1]");
  }
  validate_files(o);
  return o;
}

/// A call for each row of --pairs.
std::vector<ApplyOptions> pairs_of_table(const ApplyOptions& o) {
  require(o.inputs.empty() && o.reference.empty() && o.transforms.empty() && o.outputs.empty(),
          "--pairs names inputs, references, transforms and outputs: leave out -i, -r, -t and -o");
  const std::vector<TableRow> rows =
      read_table(o.pairs, {{"input", "reference", "output"}, transform_columns});
  std::vector<ApplyOptions> pairs;
  std::vector<RowFiles> files;
  for (const TableRow& row : rows)
    check_row(row, [&] {
      pairs.push_back(options_of(o, row));
      const std::string& output = pairs.back().outputs.front();
      files.push_back({input_files(pairs.back()), {output, output + record_suffix}});
    });
  require_apart({o.pairs, o.summary}, rows, files);
  for (std::size_t i = 0; i < rows.size(); ++i)
    check_row(rows[i], [&] { format_to_write(pairs[i].outputs.front()); });
  return pairs;
}

}  // namespace

int regtool_apply(int argc, const char* const* argv) {
  ApplyOptions o;
  po::variables_map found;
  if (!parse(argc, argv, o, found)) return done;
  validate(o);
  o.resample.fill_is_chosen = !found["fill"].defaulted();
  if (o.pairs.empty()) {
    require(o.summary.empty(), "--summary goes with --pairs");
    require(o.jobs == 0, "--jobs goes with --pairs");
    validate_files(o);
    ApplyRun run("regtool", o, nullptr);
    run_alone(run, run.device(), o.run.threads);
    return done;
  }
  const std::vector<ApplyOptions> pairs = pairs_of_table(o);
  std::vector<CohortPair> cohort;
  cohort.reserve(pairs.size());
  for (const ApplyOptions& pair : pairs)
    cohort.push_back(
        {pair.outputs.front(), input_files(pair), [&](const std::string& label, KeptImages&) {
           return std::make_unique<ApplyRun>(label, pair, &found);
         }});
  return run_cohort(
      {"regtool", o.run.device, o.run.threads, o.jobs, verbosity(false, o.run.quiet), o.summary},
      cohort);
}

}  // namespace freeflow::apps
