#include <apps/config_file.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include <apps/option_errors.h>
#include <apps/table.h>
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

/// What is looked at before the file.
constexpr std::string_view of_the_call[] = {"config", "help", "list-schemes", "version"};

/// Of two that exclude each other the call's wins.
std::string_view opposite_of(std::string_view flag) {
  return flag == "quiet" ? "verbose" : flag == "verbose" ? "quiet" : "";
}

}  // namespace

void read_config(const std::string& path, const std::string& program,
                 const po::options_description& options, po::variables_map& found) {
  size_of_readable_file(path);
  std::ifstream file(path);
  skip_byte_order_mark(file);
  try {
    po::parsed_options named = po::parse_config_file(file, options);
    std::erase_if(named.options, [&](const po::option& option) {
      const std::string opposite(opposite_of(option.string_key));
      return found.count(opposite) > 0 && !found[opposite].defaulted();
    });
    for (const po::option& option : named.options)
      require(std::ranges::find(of_the_call, option.string_key) == std::end(of_the_call),
              "'" + path + "' names '" + option.string_key +
                  "', which is an option of the command line alone; leave it out");
    po::store(named, found);
  } catch (po::error& e) {
    throw InvalidArgument("in '" + path + "': " + one_line(message_of(e)) + "; see " + program +
                          " --help");
  }
}

}  // namespace freeflow::apps
