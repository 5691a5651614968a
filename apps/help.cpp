#include <apps/help.h>

#include <algorithm>
#include <sstream>

#include <freeflow/core/error.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr unsigned columns = 80, description_columns = 50;

po::options_description everyday(const po::options_description& options, const HelpText& text) {
  po::options_description shown("Everyday options", columns, description_columns);
  for (const std::string& name : text.everyday)
    for (const auto& option : options.options())
      if (option->long_name() == name) shown.add(option);
  return shown;
}

po::options_description all_but_hidden(const po::options_description& options,
                                       const HelpText& text) {
  po::options_description shown("Options", columns, description_columns);
  for (const auto& option : options.options())
    if (std::ranges::find(text.hidden, option->long_name()) == text.hidden.end()) shown.add(option);
  return shown;
}

}  // namespace

void add_help_options(po::options_description& options) {
  options.add_options()("version", "print the version")(
      "help,h",
      po::value<std::vector<std::string>>()->multitoken()->zero_tokens()->value_name("[all]"),
      "print this help; all: every option");
}

namespace {

/// The text with sentences that go over several lines in one; commands keep theirs.
std::string joined(const std::string& text) {
  const auto is_prose = [](const std::string& line) {
    return !line.empty() && line.front() != ' ';
  };
  std::istringstream lines(text);
  std::string out, before;
  for (std::string line; std::getline(lines, line); before = line) {
    const bool goes_on =
        is_prose(before) && is_prose(line) && !before.ends_with('.') && !before.ends_with(':');
    if (!out.empty()) out += goes_on ? ' ' : '\n';
    out += line;
  }
  return text.ends_with('\n') ? out + '\n' : out;
}

}  // namespace

std::string wrapped(const std::string& text) {
  std::istringstream lines(joined(text));
  std::string out;
  for (std::string line; std::getline(lines, line); out += '\n') {
    const bool command = line.starts_with(' ');
    while (line.size() > columns) {
      // A command goes on after a backslash, with its next option.
      const std::size_t space = command ? line.rfind(" -", columns - 2) : line.rfind(' ', columns);
      if (space == std::string::npos || line.find_first_not_of(' ') > space) break;
      out.append(line, 0, space).append(command ? " \\\n" : "\n");
      line.replace(0, space + 1, command ? "    " : "");
    }
    out += line;
  }
  return out;
}

std::string help_of(const std::string& program, const HelpText& text,
                    const po::options_description& options, const std::vector<std::string>& asked) {
  require(asked.empty() || asked == std::vector<std::string>{"all"},
          "--help takes no word but all: " + program + " --help all");
  const bool all = text.everyday.empty() || !asked.empty();
  std::ostringstream out;
  out << wrapped(program + ": " + text.summary) << '\n' << wrapped(text.example) << '\n';
  if (!all)
    out << everyday(options, text);
  else if (text.hidden.empty())
    out << options;
  else
    out << all_but_hidden(options, text);
  if (!all) out << '\n' << program << " --help all explains the others.\n";
  return out.str();
}

}  // namespace freeflow::apps
