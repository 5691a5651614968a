#include <apps/config_file.h>

#include <fstream>

#include <apps/option_errors.h>
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>

namespace po = boost::program_options;

namespace freeflow::apps {

void read_config(const std::string& path, const std::string& program,
                 const po::options_description& options, po::variables_map& found) {
  size_of_readable_file(path);
  std::ifstream file(path);
  try {
    po::store(po::parse_config_file(file, options), found);
  } catch (po::error& e) {
    throw InvalidArgument("in '" + path + "': " + one_line(message_of(e)) + "; see " + program +
                          " --help");
  }
}

}  // namespace freeflow::apps
