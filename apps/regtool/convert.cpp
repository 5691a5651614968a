// regtool convert: transform files of one program as those of another.
#include <algorithm>
#include <variant>

#include <apps/bids.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/chain_checks.h>
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
    "The same as BIDS derivatives name it, "
    "sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5:\n"
    "  regtool convert -t out_1Warp.nii.gz -t out_0GenericAffine.mat --to itk "
    "--bids T1w:MNI152NLin2009cAsym -o sub-01\n"
    "A chain that a file of the other program cannot hold is refused: regtool compose it first.\n";

/// What --bids ends a name with. ITK's affines are text, as fMRIPrep keeps them.
std::string extension_of(TransformFormat format, const HostTransform& chain) {
  const bool affine = std::ranges::all_of(
      chain.steps, [](const auto& step) { return std::holds_alternative<Eigen::Affine3d>(step); });
  switch (format) {
    case TransformFormat::itk: return affine ? ".txt" : ".h5";
    case TransformFormat::fsl: return affine ? ".mat" : ".nii.gz";
    case TransformFormat::afni: return affine ? ".aff12.1D" : ".nii.gz";
    case TransformFormat::freesurfer: return ".lta";
    case TransformFormat::spm: return ".nii.gz";
    case TransformFormat::niftyreg:
    case TransformFormat::mrtrix:
    case TransformFormat::elastix: break;
  }
  return affine ? ".txt" : ".nii.gz";
}

/// Fields are left to regtool invert, which says how exact their inverse is.
void invert_affines(HostTransform& transform, const std::string& path) {
  std::ranges::reverse(transform.steps);
  for (auto& step : transform.steps) {
    auto* affine = std::get_if<Eigen::Affine3d>(&step);
    require(affine, "-t [" + path +
                        ",1]: the inverse of a field is computed, not converted: make "
                        "it with regtool invert, then convert that");
    *affine = affine->inverse();
  }
}

/// Of an inverse the file's fixed image is the moving one of --moving, and the other way round.
std::string with_images_swapped(const std::string& sentence) {
  const std::string name = "TransformContext::", fixed = name + "fixed", moving = name + "moving";
  std::string swapped = sentence;
  for (std::size_t at = 0; (at = swapped.find(name, at)) != std::string::npos; at += name.size())
    if (swapped.compare(at, fixed.size(), fixed) == 0)
      swapped.replace(at, fixed.size(), moving);
    else if (swapped.compare(at, moving.size(), moving) == 0)
      swapped.replace(at, moving.size(), fixed);
  return swapped + " (of [FILE,1], whose two images change places)";
}

/// One of the chain as it was listed, behind what was read before.
HostTransform read_listed(const std::vector<ListedTransform>& listed, std::size_t i,
                          const HostTransform& before, std::optional<TransformFormat> source,
                          const TransformContext& context) {
  try {
    HostTransform one = read_transform_file(listed[i].path, source,
                                            context_of(listed, i, has_affine(before), context));
    if (listed[i].inverse) invert_affines(one, listed[i].path);
    return one;
  } catch (const GridUnknown& e) {
    const std::string lacks = listed[i].inverse ? with_images_swapped(e.what()) : e.what();
    if (listed.size() < 2) throw InvalidArgument(lacks);
    throw InvalidArgument(lacks +
                          "; of a chain --fixed is the image before any affine and --moving the "
                          "last file's: convert the others by themselves first");
  }
}

void warn_of_contradictions(const BidsSpaces& spaces, const std::vector<std::string>& inputs,
                            std::vector<std::string>& warnings) {
  const BidsSpaces named = bids_spaces_of_chain(inputs, warnings);
  if ((!named.from.empty() && named.from != spaces.from) ||
      (!named.to.empty() && named.to != spaces.to))
    warnings.push_back("--bids " + spaces.from + ":" + spaces.to +
                       " contradicts the names of -t; FROM is the moving image's space");
}

struct ConvertOptions {
  std::vector<std::string> inputs;
  std::string output, bids, from = "auto", to, fixed, moving, vectors = "measured";
  RunOptions run;
};

/// False when the help was asked for.
bool parse(int argc, const char* const* argv, ConvertOptions& o) {
  po::options_description options("Options");
  options.add_options()  //
      ("transform,t", po::value(&o.inputs)->composing()->value_name("FILE|[FILE,1]"),
       "what to convert; several are a chain, the first applied first to a fixed point; [FILE,1] "
       "is the inverse of an affine")                                                             //
      ("output,o", po::value(&o.output)->value_name("OUT"), "what is written, by its extension")  //
      ("bids", po::value(&o.bids)->value_name("FROM:TO"),
       "OUT is the start of a BIDS name, to which _from-FROM_to-TO_mode-image_xfm and an extension "
       "are added; FROM is the moving image's space, TO the fixed one's")  //
      ("from", po::value(&o.from)->default_value(o.from)->value_name(transform_format_words(true)),
       "whose transform it is")  //
      ("to", po::value(&o.to)->value_name(transform_format_words(false)),
       "whose programs read what is written")  //
      ("fixed", po::value(&o.fixed)->value_name("IMAGE"),
       "the reference image, whose grid some formats need")                             //
      ("moving", po::value(&o.moving)->value_name("IMAGE"), "the image that is moved")  //
      ("vectors", po::value(&o.vectors)->default_value(o.vectors)->value_name(vectors_words),
       about_vectors);
  add_run_options(options, o.run);
  po::variables_map found;
  if (!parse_regtool(argc, argv, summary, example, options, found)) return false;
  require(!o.inputs.empty(), "name the transform with -t FILE");
  require(!o.output.empty(), "name the output with -o OUT");
  require(!o.to.empty(), "name whose file to write: --to " + transform_format_words(false));
  return true;
}

HostTransform read_chain_of(const std::vector<ListedTransform>& listed,
                            std::optional<TransformFormat> source,
                            const TransformContext& context) {
  check_order(listed);
  HostTransform chain;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    HostTransform one = read_listed(listed, i, chain, source, context);
    for (auto& step : one.steps) chain.steps.push_back(std::move(step));
    chain.warnings.insert(chain.warnings.end(), one.warnings.begin(), one.warnings.end());
  }
  return chain;
}

}  // namespace

int regtool_convert(int argc, const char* const* argv) {
  ConvertOptions o;
  if (!parse(argc, argv, o)) return done;
  const std::optional<TransformFormat> source = transform_format_of("from", o.from);
  const TransformFormat target = *transform_format_of("to", o.to);
  std::vector<ListedTransform> listed;
  listed.reserve(o.inputs.size());
  for (const std::string& input : o.inputs) listed.push_back(listed_transform(input));
  std::vector<std::string> protect = transform_files(o.inputs);
  protect.insert(protect.end(), {o.fixed, o.moving});
  if (o.bids.empty()) protect_inputs(o.output, protect, {""});
  const BidsSpaces spaces = o.bids.empty() ? BidsSpaces{} : parse_bids(o.bids);
  const std::string prefix = o.bids.empty() ? o.output : bids_prefix(o.output);

  std::vector<std::string> of_images;
  const TransformContext context = transform_context(o.fixed, o.moving, o.vectors, of_images);
  HostTransform chain = read_chain_of(listed, source, context);
  chain.warnings.insert(chain.warnings.begin(), of_images.begin(), of_images.end());
  if (!o.bids.empty()) {
    warn_of_contradictions(spaces, o.inputs, chain.warnings);
    o.output = prefix + bids_transform(spaces, extension_of(target, chain));
    protect_inputs(o.output, protect, {""});
  }
  write_output(o.output, [&](const std::string& path) {
    const auto said = write_transform_file(path, target, chain, context);
    chain.warnings.insert(chain.warnings.end(), said.begin(), said.end());
  });
  print_warnings("regtool", chain.warnings, o.run.quiet);
  return done;
}

}  // namespace freeflow::apps
