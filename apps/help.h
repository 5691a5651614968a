// What --help prints.
#pragma once

#include <boost/program_options.hpp>

#include <string>
#include <vector>

namespace freeflow::apps {

struct HelpText {
  /// What the program is for, and what closes the help; lines that begin with a space are commands.
  std::string summary, example;
  /// The long names of the options that --help shows, in this order; --help all shows the others
  /// too. Empty: all of them at once.
  std::vector<std::string> everyday = {};
  /// Those that no help shows: taken only to say what to take instead.
  std::vector<std::string> hidden = {};
};

/// --help and --version, as every program takes them.
void add_help_options(boost::program_options::options_description& options);

/// What was asked for by `--help` or `--help all`, in lines of at most 80 characters. Throws
/// InvalidArgument for another word.
std::string help_of(const std::string& program, const HelpText& text,
                    const boost::program_options::options_description& options,
                    const std::vector<std::string>& asked);

/// Fills lines up to 80 characters: a sentence goes on from line to line, what ends in a full stop
/// or a colon keeps its end. Commands (lines that begin with a space) of more are broken before an
/// option.
std::string wrapped(const std::string& text);

}  // namespace freeflow::apps
