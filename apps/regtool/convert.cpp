// regtool convert: transform files of one program as those of another.
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/transform_words.h>

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
       transform_format_words(true).c_str())                                               //
      ("to", po::value(&to)->value_name("FORMAT"), transform_format_words(false).c_str())  //
      ("fixed", po::value(&fixed)->value_name("IMAGE"),
       "the reference image, whose grid some formats need")                           //
      ("moving", po::value(&moving)->value_name("IMAGE"), "the image that is moved")  //
      ("vectors", po::value(&vectors)->default_value(vectors)->value_name(vectors_words),
       about_vectors);
  add_run_options(options, run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return done;
  require(!inputs.empty(), "name the transform with -t FILE");
  require(!output.empty(), "name the output with -o OUT");
  const std::optional<TransformFormat> source = transform_format_of("from", from);
  const TransformFormat target = *transform_format_of("to", to);
  std::vector<std::string> protect = inputs;
  protect.insert(protect.end(), {fixed, moving});
  protect_inputs(output, protect, {""});

  const TransformContext context = transform_context(fixed, moving, vectors);
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
