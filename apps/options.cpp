#include <apps/config_file.h>
#include <apps/option_errors.h>
#include <apps/options.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/threads.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include <freeflow/core/error.h>
#include <freeflow/io/compression.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/mesh_file.h>
#include <freeflow/io/output_set.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

template <class Infos>
void print_table(const char* heading, const Infos& infos) {
  std::cout << heading << '\n';
  for (const auto& info : infos)
    std::cout << "  " << info.name << std::string(18 - info.name.size(), ' ') << info.overview
              << '\n';
}

void print_schemes() {
  print_table("Histogram schemes (--histogram-scheme), for nmi and mi; the CPU takes every name:",
              histogram_schemes());
  print_table("Correlation-ratio schemes (--ratio-scheme), for cr; the CPU takes every name:",
              ratio_schemes());
}

/// Boost's message as one sentence that says where help is.
std::string sentence(const std::string& program, po::error& e) {
  return message_of(e) + "; see " + program + " --help";
}

}  // namespace

std::vector<std::string> everyday_options(const std::vector<std::string>& own) {
  std::vector<std::string> names = {"fixed", "moving",     "output",  "fixed-mask", "moving-mask",
                                    "init",  "similarity", "outputs", "report",     "pairs"};
  names.insert(names.end(), own.begin(), own.end());
  names.insert(names.end(), {"device", "threads", "verbose", "quiet", "version", "help"});
  return names;
}

bool parse_command_line(int argc, const char* const* argv, const std::string& program,
                        const HelpText& help, const po::options_description& options,
                        po::variables_map& found) {
  try {
    // No abbreviations: a script must not change its meaning when an option is added.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(argc, argv).options(options).positional({}).style(style).run(),
        found);
    if (found.count("help")) {
      std::cout << help_of(program, help, options, found["help"].as<std::vector<std::string>>());
      return false;
    }
    if (found.count("version")) {
      std::cout << program << " (FreeFlow) " FREEFLOW_VERSION "\n";
      return false;
    }
    if (found.count("list-schemes")) {
      print_schemes();
      return false;
    }
    if (found.count("config"))
      read_config(found["config"].as<std::string>(), program, options, found);
    po::notify(found);
  } catch (po::error& e) {
    throw InvalidArgument(sentence(program, e));
  }
  return true;
}

std::vector<double> parse_channel_weights(const std::vector<std::string>& words) {
  std::vector<double> weights;
  for (const std::string& word : words)
    for (const char *p = word.data(), *const end = p + word.size(); p != end;) {
      double weight = 0;
      const auto [next, error] = std::from_chars(p, end, weight);
      const bool separated = next != end && (*next == ',' || *next == ' ') && next + 1 != end;
      require(error == std::errc() && (next == end || separated),
              "--channel-weights '" + word + "' is not a number for each channel, such as 1 0.5");
      weights.push_back(weight);
      p = next == end ? end : next + 1;
    }
  return weights;
}

std::vector<int> parse_iterations(const std::string& text) {
  std::vector<int> values;
  const char *p = text.data(), *end = p + text.size();
  while (p != end) {
    int value = 0;
    const auto [next, error] = std::from_chars(p, end, value);
    const bool good =
        error == std::errc() && value >= 0 && (next == end || (*next == 'x' && next + 1 != end));
    require(good, "--iterations '" + text + "' is not of the form 200x100x50");
    values.push_back(value);
    p = next == end ? next : next + 1;
  }
  return values;
}

ControlSpacing parse_spacing(const std::string& text) {
  ControlSpacing spacing;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), spacing.value);
  const std::string unit(next, text.data() + text.size());
  spacing.in_mm = unit == "mm";
  require(
      error == std::errc() && spacing.value > 0 && (unit.empty() || unit == "mm" || unit == "vox"),
      "--spacing '" + text + "' is not a positive number with vox or mm, such as 3vox or 10mm");
  require(!unit.empty(),
          "--spacing '" + text + "' lacks its unit: write mm or vox behind it, as in 10mm or 3vox");
  return spacing;
}

IntensityOptions intensity_options(const CommonOptions& o) {
  IntensityOptions intensities;
  if (!o.background.empty()) {
    float value = 0;
    const char* const end = o.background.data() + o.background.size();
    const auto [next, error] = std::from_chars(o.background.data(), end, value);
    require(error == std::errc() && next == end && !std::isinf(value),
            "--background '" + o.background + "' is not a number");
    intensities.background = value;
  }
  if (!o.clip.empty()) intensities.clip = parse_clip(o.clip);
  return intensities;
}

SimilarityChoice similarity_choice(const CommonOptions& o) {
  SimilarityChoice c;
  c.sum = *parse_similarity_sum(o.similarity);
  if (c.sum.size() == 1) {
    c.kind = c.sum[0].kind;
    c.sum.clear();
  }
  c.channel_weights = parse_channel_weights(o.channel_weights);
  c.bins = o.bins;
  c.estimator = *parse_estimator(o.estimator);
  c.histogram_scheme = *parse_histogram_scheme(o.histogram_scheme);
  c.ratio_scheme = *parse_ratio_scheme(o.ratio_scheme);
  c.ratio_direction =
      o.cr_of_fixed ? RatioDirection::fixed_given_moving : RatioDirection::moving_given_fixed;
  c.border_mm = o.cr_border;
  c.lncc_radius = o.lncc_radius;
  c.mind_radius = o.mind_radius;
  c.mind_dilation = o.mind_dilation;
  return c;
}

Interpolation parse_interpolation(const std::string& word, const std::string& option) {
  require(word == "linear" || word == "cubic",
          "--" + option + " '" + word + "' is not one of linear, cubic");
  return word == "linear" ? Interpolation::linear : Interpolation::cubic;
}

po::typed_value<std::string>* prefix_value(std::string& prefix) {
  return po::value(&prefix)->value_name("PREFIX")->notifier(
      [&prefix](const std::string& given) { prefix = begin_of_names(given); });
}

void require_prefix(const std::string& prefix) {
  require(!prefix.empty(), "name the output prefix with -o PREFIX");
  if (!is_image_format(prefix) && !is_mesh_name(prefix)) return;
  std::filesystem::path start = std::filesystem::path(prefix).replace_extension();
  if (has_extension(prefix, ".gz")) start.replace_extension();
  throw InvalidArgument("-o '" + prefix +
                        "' ends as a file's name, but is the prefix of several files: -o " +
                        start.string() + "_");
}

void protect_inputs(const std::string& prefix, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& suffixes) {
  for (const std::string& suffix : suffixes) {
    const std::string output = prefix + suffix;
    std::error_code none;  // the path may lead through a folder that is yet to be made
    const std::filesystem::path place = std::filesystem::weakly_canonical(output, none);
    for (const std::string& input : inputs) {
      if (std::filesystem::equivalent(place, input, none))
        throw InvalidArgument("the output '" + output +
                              "' is also an input; choose another prefix with -o");
    }
  }
}

void warn_of_folder(const std::string& prefix, std::vector<std::string>& warnings) {
  std::error_code none;
  const std::string last = std::filesystem::path(prefix).filename().string();
  if (last.empty() || !std::filesystem::is_directory(prefix, none)) return;
  warnings.push_back("'" + prefix +
                     "' is a folder, and the outputs lie beside it with names that begin like its; "
                     "-o " +
                     prefix + "/ puts them into it");
}

std::vector<std::string> idle_options(const CommonOptions& o, const po::variables_map& found) {
  const SimilarityChoice choice = similarity_choice(o);
  std::vector<SimilarityTerm> terms = choice.terms();
  const auto add = [&](const std::vector<SimilarityTerm>& more) {
    terms.insert(terms.end(), more.begin(), more.end());
  };
  add(choice.terms(false));
  if (found.count("linear") && o.linear != "none") add(linear_choice(choice).terms());
  const auto uses = [&](SimilarityKind kind) {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const SimilarityTerm& t) { return t.kind == kind; });
  };
  const bool information = uses(SimilarityKind::nmi) || uses(SimilarityKind::mi),
             ratio = uses(SimilarityKind::cr), local = uses(SimilarityKind::lncc),
             context = uses(SimilarityKind::mind);
  const std::pair<const char*, bool> looked_at[] = {
      {"bins", information || ratio}, {"estimator", information}, {"histogram-scheme", information},
      {"ratio-scheme", ratio},        {"cr-of-fixed", ratio},     {"cr-border", ratio},
      {"lncc-radius", local},         {"mind-radius", context},   {"mind-dilation", context}};
  std::vector<std::string> warnings;
  for (const auto& [option, used] : looked_at)
    if (!used && !found[option].defaulted())
      warnings.push_back("--" + std::string(option) + " changes nothing with --similarity " +
                         o.similarity);
  if (o.fixed.size() == 1 && !o.channel_weights.empty())
    warnings.push_back("--channel-weights changes nothing with one channel");
  const OutputChoice asked = parse_outputs(o.outputs);
  const auto of_outputs = [&](const std::string& option, bool used, const std::string& what) {
    if (!used && !found[option].defaulted())
      warnings.push_back("--" + option + " changes nothing with --outputs " + o.outputs +
                         ", which asks for no " + what);
  };
  of_outputs("field-factor", asked.warp || asked.inverse, "field");
  of_outputs("interpolation", asked.warped || asked.inverse_warped, "warped image");
  return warnings;
}

void refuse_idle(const po::variables_map& found, const std::string& option, bool used,
                 const std::string& mend) {
  require(used || found.count(option) == 0 || found[option].defaulted(),
          "--" + option + " would change nothing; " + mend);
}

void print_warnings(const std::string& program, const std::vector<std::string>& warnings,
                    bool quiet) {
  if (quiet) return;
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "%s: warning: %s\n", program.c_str(), for_users(warning).c_str());
}

bool is_start_word(const std::string& text) {
  return text == "identity" || text == "center" || text == "moments";
}

std::vector<std::string> input_files(const CommonOptions& o) {
  std::vector<std::string> files;
  for (const auto* listed : {&o.fixed, &o.moving, &o.init})
    for (const std::string& file : *listed)
      if (listed != &o.init || !is_start_word(file)) files.push_back(file);
  for (const std::string& mask : {o.fixed_mask, o.moving_mask})
    if (!mask.empty()) files.push_back(mask);
  return files;
}

void validate_files(const CommonOptions& o) {
  const auto named = [](const std::vector<std::string>& files) {
    return !files.empty() &&
           std::ranges::none_of(files, [](const std::string& f) { return f.empty(); });
  };
  require(named(o.fixed), "name the fixed image with -f FILE");
  require(named(o.moving), "name the moving image with -m FILE");
  require(o.fixed.size() == o.moving.size(),
          "-f names " + std::to_string(o.fixed.size()) + " channels and -m " +
              std::to_string(o.moving.size()) + "; each takes one of both, in the same order");
  const std::size_t weights = parse_channel_weights(o.channel_weights).size();
  require(weights == 0 || weights == o.fixed.size(),
          "--channel-weights has " + std::to_string(weights) + " numbers for " +
              std::to_string(o.fixed.size()) + " channels; give one for each -f, or none");
  require_prefix(o.output);
  require(o.init.size() == 1 ||
              (o.init.size() == 2 && !is_start_word(o.init[0]) && !is_start_word(o.init[1])),
          "--init takes one start, or a displacement field and then an affine");
  for (const std::string& start : o.init)
    require(!start.ends_with(",1]"),
            "--init '" + start +
                "' takes no inverse; write it first: regtool convert -t \"[FILE,1]\" --to itk -o "
                "OUT.tfm, or of a field regtool invert -t FILE -o OUT.nii.gz");
}

void validate(const CommonOptions& o) {
  require(parse_similarity_sum(o.similarity).has_value(),
          "--similarity '" + o.similarity +
              "' is not one of auto, nmi, mi, cr, ssd, lncc, mind, or a sum of them such as "
              "lncc+0.3nmi");
  require(parse_histogram_scheme(o.histogram_scheme).has_value(),
          "--histogram-scheme '" + o.histogram_scheme + "' is unknown; --list-schemes names them");
  require(parse_ratio_scheme(o.ratio_scheme).has_value(),
          "--ratio-scheme '" + o.ratio_scheme + "' is unknown; --list-schemes names them");
  require(
      parse_estimator(o.estimator).has_value(),
      "--estimator '" + o.estimator + "' is not one of parzen, parzen_both, partial_volume, hard");
  require(o.linear == "none" || parse_linear_model(o.linear).has_value(),
          "--linear '" + o.linear + "' is not one of none, rigid, similarity, affine");
  require(parse_start(o.start).has_value(),
          "--start '" + o.start + "' is not one of auto, discrete, none");
  require(o.report == "json" || o.report == "html" || o.report == "both",
          "--report '" + o.report + "' is not one of json, html, both");
  require(o.report == "json" || parse_outputs(o.outputs).report,
          "--report " + o.report + " asks for what --outputs leaves out; add report to it");
  require(o.bids.empty() || !parse_outputs(o.outputs).lattice,
          "--outputs lattice has no BIDS name; leave out --bids");
  require(o.field_factor >= 1 && o.field_factor <= 8,
          "--field-factor must lie between 1 (every voxel) and 8");
  require(o.compress >= 0 && o.compress <= Compression::smallest,
          "--compress must lie between 0 (.nii, as it is) and 9 (.nii.gz, the smallest)");
  require_threads(o.threads);
  require(o.jobs >= 0 && o.jobs <= 64, "--jobs must lie between 0 (automatic) and 64");
  require(!(o.verbose && o.quiet), "--verbose and --quiet exclude each other");
  require(o.lncc_radius >= 1 && o.lncc_radius <= 64,
          "--lncc-radius must lie between 1 and 64 voxels");
  require(o.cr_border >= 0 && o.cr_border < 1e6, "--cr-border must lie between 0 and 1e6 mm");
  parse_interpolation(o.interpolation);
  intensity_options(o);
}

}  // namespace freeflow::apps
