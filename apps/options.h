// The vocabulary that ffdreg, fluidreg and linreg share on the command line and in an INI file
// (--config; flags win).
#pragma once

#include <boost/program_options.hpp>

#include <optional>
#include <string>
#include <vector>

#include <apps/help.h>
#include <apps/intensities.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/register_images.h>

namespace freeflow::apps {

struct CommonOptions {
  std::vector<std::string> fixed, moving;    ///< a file for each channel
  std::vector<std::string> channel_weights;  ///< numbers, or lists of them
  std::string output;
  std::string pairs, summary;   ///< tables, or empty
  std::string outputs = "all";  ///< words of OutputChoice, separated by commas
  std::string report = "json";  ///< json, html or both
  int compress = 1;             ///< 0 to 9; 0: not at all
  int field_factor = 1;
  std::string bids;    ///< FROM:TO, or empty
  std::string config;  ///< FILE, or empty
  std::string fixed_mask, moving_mask;
  std::string background, clip;  ///< a number; LOW,HIGH; or empty
  std::vector<std::string> init = {"identity"};
  std::string linear = "affine", start = "auto";
  std::string similarity = "auto", estimator = "parzen", histogram_scheme = "auto",
              ratio_scheme = "auto";
  int bins = 64, lncc_radius = SimilarityChoice{}.lncc_radius,
      mind_radius = SimilarityChoice{}.mind_radius,
      mind_dilation = SimilarityChoice{}.mind_dilation;
  bool cr_of_fixed = false;
  double cr_border = 0;
  int levels = 3;
  std::string iterations;
  std::string interpolation = "linear";
  std::string device = "auto";
  int threads = 0;
  int jobs = 0;  ///< 0: automatic
  bool verbose = false, quiet = false;
};

/// The shared options; their values go to `values`, whose initial contents are the defaults.
boost::program_options::options_description common_options(CommonOptions& values);

/// The long names of the shared options that --help shows, and with them the program's `own`.
std::vector<std::string> everyday_options(const std::vector<std::string>& own);

/// Parses the command line, then --config. Returns false when --help, --version or --list-schemes
/// was asked for and printed. Throws InvalidArgument with the option and the mend.
bool parse_command_line(int argc, const char* const* argv, const std::string& program,
                        const HelpText& help,
                        const boost::program_options::options_description& options,
                        boost::program_options::variables_map& found);

/// Checks of options, run so that their sentence names the file that some of them come from.
template <class Check>
auto with_config_named(const boost::program_options::variables_map& found, const Check& check) {
  try {
    return check();
  } catch (const InvalidArgument& e) {
    if (!found.count("config")) throw;
    throw InvalidArgument(std::string(e.what()) + " (options of '" +
                          found["config"].as<std::string>() + "' are among them)");
  }
}

/// What a word of an option stands for. Throws InvalidArgument with the words there are.
template <class T>
T chosen(std::optional<T> value, const std::string& option, const std::string& word,
         const std::string& words) {
  require(value.has_value(), "--" + option + " '" + word + "' is not one of " + words);
  return *value;
}

/// The numbers that --channel-weights lists, with spaces or commas between them.
std::vector<double> parse_channel_weights(const std::vector<std::string>& words);
/// "200x100x50" as numbers.
std::vector<int> parse_iterations(const std::string& text);
/// "16vox", "10mm" or "5" (voxels).
ControlSpacing parse_spacing(const std::string& text);
/// Throws InvalidArgument with the option.
IntensityOptions intensity_options(const CommonOptions& o);
/// The measure that the options name.
SimilarityChoice similarity_choice(const CommonOptions& o);
inline constexpr const char* linear_search_names = "auto|gradient|powell|hill|flirt";
Interpolation parse_interpolation(const std::string& word,
                                  const std::string& option = "interpolation");

/// An option whose value is what names begin with: "." is "./".
boost::program_options::typed_value<std::string>* prefix_value(std::string& prefix);

/// Throws InvalidArgument where there is no prefix, or where it is an image's or a mesh's name, as
/// programs take that write one file.
void require_prefix(const std::string& prefix);

/// An output that is one of the inputs would destroy it: throws InvalidArgument then. suffixes: of
/// the outputs.
void protect_inputs(const std::string& prefix, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& suffixes);

/// A sentence for each option that was given but that the chosen measure does not look at.
std::vector<std::string> idle_options(const CommonOptions& o,
                                      const boost::program_options::variables_map& found);

/// What was given though what was chosen does not look at it is refused, lest someone believes to
/// have tuned it. mend: which other choice does.
void refuse_idle(const boost::program_options::variables_map& found, const std::string& option,
                 bool used, const std::string& mend);

/// A program, as what it says about a pair begins ("fluidreg", or "fluidreg: pair 3/20"), and the
/// options that it was given, which must outlive it.
struct Program {
  std::string name, label;
  const boost::program_options::variables_map& found;
};

/// Warnings on stderr, for users, unless quiet.
void print_warnings(const std::string& program, const std::vector<std::string>& warnings,
                    bool quiet);
inline void print_warnings(const std::string& program, const std::vector<std::string>& warnings,
                           const CommonOptions& o) {
  print_warnings(program, warnings, o.quiet);
}

/// A sentence where the prefix is a folder's name and the user may have meant the folder.
void warn_of_folder(const std::string& prefix, std::vector<std::string>& warnings);

/// Checks what can be checked before reading anything: words are known.
void validate(const CommonOptions& o);
/// The same of the files of a pair: those that are needed are named.
void validate_files(const CommonOptions& o);

/// Whether --init names no file.
bool is_start_word(const std::string& text);
/// All files that a pair reads.
std::vector<std::string> input_files(const CommonOptions& o);

}  // namespace freeflow::apps
