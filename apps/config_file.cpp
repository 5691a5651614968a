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

}  // namespace

void read_config(const std::string& path, const std::string& program,
                 const po::options_description& options, po::variables_map& found) {
  size_of_readable_file(path);
  std::ifstream file(path);
  skip_byte_order_mark(file);
  try {
    const po::parsed_options named = po::parse_config_file(file, options);
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
