#include <apps/regtool/commands.h>

#include <cstdio>
#include <iostream>

#include <apps/bids.h>
#include <apps/program.h>
#include <freeflow/io/transforms/transform_formats.h>
#include <freeflow/transform/transform_operations.h>

namespace po = boost::program_options;

namespace freeflow::apps {

void add_run_options(po::options_description& options, RunOptions& v) {
  options.add_options()  //
      ("device", po::value(&v.device)->default_value(v.device)->value_name("auto|cpu|cuda|cuda:N"),
       "where to compute; auto takes the first GPU")  //
      ("threads", po::value(&v.threads)->default_value(v.threads)->value_name("N"),
       "CPU threads, 0 for all")                                       //
      ("quiet,q", po::bool_switch(&v.quiet), "no warnings on stderr")  //
      ("help,h", "this");
}

bool parse_regtool(int argc, const char* const* argv, const std::string& summary,
                   const std::string& example, const po::options_description& options,
                   po::variables_map& found) {
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(argc, argv).options(options).positional({}).style(style).run(),
        found);
    if (found.count("help")) {
      std::cout << "regtool " << argv[0] << ": " << summary << "\n\n" << example << '\n' << options;
      return false;
    }
    po::notify(found);
  } catch (const po::error& e) {
    throw InvalidArgument(std::string(e.what()) + "; see regtool " + argv[0] + " --help");
  }
  return true;
}

namespace {

/// "[FILE,1]" or "[FILE,0]" or FILE.
std::string named_file(const std::string& text, bool& inverse) {
  inverse = false;
  if (text.empty() || text.front() != '[' || text.back() != ']') return text;
  const auto comma = text.rfind(',');
  const std::string flag =
      comma == std::string::npos ? "" : text.substr(comma + 1, text.size() - comma - 2);
  require(flag == "0" || flag == "1", "-t '" + text + "' is not of the form [FILE,1]");
  inverse = flag == "1";
  return text.substr(1, comma - 1);
}

Transform read_one(Context& ctx, const std::string& path, std::vector<std::string>& warnings) {
  const HostTransform read = read_transform_file(path, TransformFormat::itk);
  warnings.insert(warnings.end(), read.warnings.begin(), read.warnings.end());
  Transform transform;
  for (const auto& step : read.steps)
    if (const auto* field = std::get_if<HostField>(&step))
      transform.then(DisplacementField(ctx, field->geometry, field->planes));
    else
      transform.then(std::get<Eigen::Affine3d>(step));
  return transform;
}

}  // namespace

Transform read_chain(Context& ctx, const std::vector<std::string>& files,
                     std::vector<std::string>& warnings) {
  Transform chain;
  bids_spaces_of_chain(files, warnings);
  for (const std::string& text : files) {
    bool inverse = false;
    const std::string path = named_file(text, inverse);
    const Transform one = read_one(ctx, path, warnings);
    if (!inverse) {
      chain.then(one);
      continue;
    }
    const InverseTransform back = invert(ctx, one, interrupt_requested);
    if (!one.is_affine()) {
      char sentence[160];
      std::snprintf(sentence, sizeof sentence,
                    "' was inverted, with a residual of %.3f voxel on average, %.2f at most",
                    back.mean_residual_voxels, back.largest_residual_voxels);
      warnings.push_back("'" + path + sentence);
    }
    chain.then(back.transform);
  }
  return chain;
}

}  // namespace freeflow::apps
