// regtool measure: how good a registration is, by labels, landmarks and the field itself.
#include <cstdio>
#include <filesystem>

#include <apps/field_names.h>
#include <apps/one_stream.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/measured.h>
#include <apps/report_parts.h>

namespace po = boost::program_options;
using nlohmann::ordered_json;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "scores a registration: how far labels overlap and their surfaces lie apart, how far "
    "landmarks\n"
    "miss, where the field folds and how well its inverse undoes it. Any of them in one call.\n"
    "docs/evaluation.md defines each figure.";

constexpr const char* example =
    "Example: all that can be said of ffdreg ... -o out_\n"
    "  regtool measure --fixed-labels f_seg.nii.gz --moving-labels m_seg.nii.gz \\\n"
    "    --fixed-points f.csv --moving-points m.csv \\\n"
    "    -t out_1Warp.nii.gz -t out_0GenericAffine.mat \\\n"
    "    --field out_1Warp.nii.gz --inverse out_1InverseWarp.nii.gz -o scores.json\n"
    "Without -t labels and landmarks are compared as they lie.\n";

void add_options(po::options_description& options, MeasureOptions& o) {
  options.add_options()  //
      ("fixed-labels", po::value(&o.fixed_labels)->value_name("IMAGE"),
       "labels of the fixed image, on any grid")  //
      ("moving-labels", po::value(&o.moving_labels)->value_name("IMAGE"),
       "labels of the moving image; they are carried onto the fixed labels' grid")  //
      ("labels", po::value(&o.labels)->value_name("1,2,3"),
       "which labels; those that both images have, but 0, unless given")  //
      ("fixed-points", po::value(&o.fixed_points)->value_name("F.csv"),
       "landmarks of the fixed image, x,y,z a line")  //
      ("moving-points", po::value(&o.moving_points)->value_name("M.csv"),
       "the same places in the moving image, in the same order")  //
      ("frame", po::value(&o.frame)->default_value(o.frame)->value_name("lps|ras|voxel"),
       "of the landmarks: mm along ITK's or NIfTI's axes, or voxels counted from 0")  //
      ("fixed", po::value(&o.fixed)->value_name("IMAGE"),
       "whose voxels --frame voxel counts for the fixed points, and on whose grid control points "
       "are evaluated; without --frame voxel for splines alone")                               //
      ("moving", po::value(&o.moving)->value_name("IMAGE"), "and for the moving ones")         //
      ("per-point", po::bool_switch(&o.per_point), "write each landmark's error to the JSON")  //
      ("transform,t", po::value(&o.transforms)->composing()->value_name("FILE|[FILE,1]"),
       "fixed to moving, as regtool apply takes it")  //
      ("field", po::value(&o.field)->value_name("WARP"),
       "a displacement field: its folds, volume changes and lengths")  //
      ("mask", po::value(&o.mask)->value_name("IMAGE"),
       "on the field's grid: only voxels above 0.5 count")  //
      ("inverse", po::value(&o.inverse)->value_name("WARP"),
       "the field that should undo --field: what is left")  //
      ("output,o", po::value(&o.output)->value_name("OUT.json"), "all figures as JSON");
  add_run_options(options, o.run);
}

/// Two options that only make sense together.
void require_both(const std::string& one, const std::string& other, const char* one_name,
                  const char* other_name) {
  require(one.empty() == other.empty(), std::string(one.empty() ? other_name : one_name) +
                                            " needs " + (one.empty() ? one_name : other_name) +
                                            " beside it");
}

void check(const MeasureOptions& o) {
  require_both(o.fixed_labels, o.moving_labels, "--fixed-labels", "--moving-labels");
  require_both(o.fixed_points, o.moving_points, "--fixed-points", "--moving-points");
  const bool labels = !o.fixed_labels.empty(), points = !o.fixed_points.empty();
  require(labels || points || !o.field.empty(),
          "name what to measure: --fixed-labels and --moving-labels, --fixed-points and "
          "--moving-points, or --field");
  require(labels || o.labels.empty(), "--labels needs --fixed-labels and --moving-labels");
  require(labels || points || o.transforms.empty(),
          "-t carries labels or landmarks: name some, or name the field with --field");
  require(!o.field.empty() || o.inverse.empty(), "--inverse needs --field, which it undoes");
  require(!o.field.empty() || o.mask.empty(), "--mask needs --field");
  require(o.frame == "lps" || o.frame == "ras" || o.frame == "voxel",
          "--frame '" + o.frame + "' is not one of lps, ras, voxel");
  const bool images = !o.fixed.empty() && !o.moving.empty();
  require(o.frame != "voxel" || images,
          "--frame voxel needs the images whose voxels are counted: --fixed IMAGE --moving IMAGE");
  const bool idle = !o.moving.empty() || (!o.fixed.empty() && o.transforms.empty());
  require(o.frame == "voxel" || !idle, "--fixed and --moving are for --frame voxel");
  require(!o.per_point || (points && !o.output.empty()),
          "--per-point needs landmarks, and -o OUT.json for what it writes");
}

}  // namespace

int regtool_measure(int argc, const char* const* argv) {
  MeasureOptions o;
  o.run.device = "cpu";  // all but the labels' resampling is the host's
  po::options_description options("Options");
  add_options(options, o);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return done;
  check(o);
  std::vector<std::string> inputs = transform_files(o.transforms);
  inputs.insert(inputs.end(), {o.fixed_labels, o.moving_labels, o.fixed_points, o.moving_points,
                               o.fixed, o.moving, o.field, o.inverse, o.mask});
  if (!o.output.empty()) protect_inputs(o.output, inputs, {""});
  const std::string ending = std::filesystem::path(o.output).extension().string();
  const bool says_json = ending.empty() || ending == ".json";
  require(says_json, "-o " + o.output +
                         ": the figures are written as JSON: name it OUT.json, or leave -o out "
                         "for the tables alone");

  Context ctx = context_of_one_stream(o.run.device, o.run.threads);
  std::vector<std::string> warnings;
  ordered_json json{{"program", "regtool measure"},
                    {"version", FREEFLOW_VERSION},
                    {"options", options_json(found)},
                    {"warnings", ordered_json::array()}};
  std::string tables;
  const auto take = [&](const char* name, Measured measured) {
    stop_if_interrupted();
    tables += (tables.empty() ? "" : "\n") + measured.table;
    json[name] = std::move(measured.json);
  };
  const Transform chain =
      read_chain(ctx, o.transforms, o.fixed.empty() ? o.fixed_labels : o.fixed, warnings);
  if (!o.fixed_labels.empty()) take("labels", measure_labels(ctx, o, chain, warnings));
  if (!o.fixed_points.empty()) take("landmarks", measure_landmarks(ctx, o, chain, warnings));
  if (!o.field.empty()) {
    const DisplacementField u = read_field(ctx, "--field", o.field, warnings);
    const Volume<float> mask = read_mask_of(ctx, o, u, warnings);
    take("field", measure_field(ctx, o, u, mask));
    if (!o.inverse.empty()) take("inverse", measure_inverse(ctx, o, u, mask, warnings));
  }
  json["warnings"] = translated(warnings);
  if (!o.output.empty())
    write_output(o.output, [&](const std::string& path) { write_json(path, json); });
  std::fputs(tables.c_str(), stdout);
  print_warnings("regtool", warnings, o.run.quiet);
  return done;
}

}  // namespace freeflow::apps
