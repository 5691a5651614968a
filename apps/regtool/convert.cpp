// regtool convert: transform files of one program as those of another.
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transforms/transform_formats.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "writes the transform files of one program as those of another, exactly.";

constexpr const char* example =
    "Example: FSL's matrix for ANTs, and a field and an affine as one composite:\n"
    "  regtool convert -t flirt.mat --from fsl --to itk -o affine.mat --fixed ref.nii.gz "
    "--moving in.nii.gz\n"
    "  regtool convert -t out_1Warp.nii.gz -t out_0GenericAffine.mat --to itk -o whole.h5\n"
    "A chain that a file of the other program cannot hold is refused: regtool compose it first.\n";

std::string format_words(bool with_auto) {
  std::string words = with_auto ? "auto" : "";
  for (const TransformFormatInfo& f : transform_formats()) {
    if (!words.empty()) words += '|';
    words += f.word;
  }
  return words;
}

std::optional<TransformFormat> format_of(const std::string& option, const std::string& word) {
  const std::optional<TransformFormat> format = parse_transform_format(word);
  require(format || (option == "from" && word == "auto"),
          "--" + option + " '" + word + "' is not one of " + format_words(option == "from"));
  return format;
}

}  // namespace

int regtool_convert(int argc, const char* const* argv) {
  std::vector<std::string> inputs;
  std::string output, from = "auto", to, fixed, moving, vectors = "measured";
  RunOptions run;
  po::options_description options("Options");
  options.add_options()  //
      ("transform,t", po::value(&inputs)->composing()->value_name("FILE"),
       "what to convert; several are a chain, the first applied first to a fixed point")        //
      ("output,o", po::value(&output)->value_name("OUT"), "what is written, by its extension")  //
      ("from", po::value(&from)->default_value(from)->value_name("FORMAT"),
       format_words(true).c_str())                                               //
      ("to", po::value(&to)->value_name("FORMAT"), format_words(false).c_str())  //
      ("fixed", po::value(&fixed)->value_name("IMAGE"),
       "the reference image, whose grid some formats need")                           //
      ("moving", po::value(&moving)->value_name("IMAGE"), "the image that is moved")  //
      ("vectors",
       po::value(&vectors)->default_value(vectors)->value_name("measured|displacements|positions"),
       "what FSL's fields hold, which the file does not say");
  add_run_options(options, run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return done;
  require(!inputs.empty(), "name the transform with -t FILE");
  require(!output.empty(), "name the output with -o OUT");
  const std::optional<TransformFormat> source = format_of("from", from);
  const TransformFormat target = *format_of("to", to);
  std::vector<std::string> protect = inputs;
  protect.insert(protect.end(), {fixed, moving});
  protect_inputs(output, protect, {""});

  TransformContext context;
  if (!fixed.empty()) context.fixed = read_geometry(fixed);
  if (!moving.empty()) context.moving = read_geometry(moving);
  require(vectors == "measured" || vectors == "displacements" || vectors == "positions",
          "--vectors '" + vectors + "' is not one of measured, displacements, positions");
  if (vectors != "measured")
    context.vectors =
        vectors == "positions" ? VectorMeaning::positions : VectorMeaning::displacements;
  HostTransform chain;
  for (const std::string& input : inputs) {
    HostTransform one = read_transform_file(input, source, context);
    for (auto& step : one.steps) chain.steps.push_back(std::move(step));
    chain.warnings.insert(chain.warnings.end(), one.warnings.begin(), one.warnings.end());
  }
  write_output(
      output, [&](const std::string& path) { write_transform_file(path, target, chain, context); });
  print_warnings("regtool", chain.warnings, run.quiet);
  return done;
}

}  // namespace freeflow::apps
