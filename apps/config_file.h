// The INI file of --config.
#pragma once

#include <boost/program_options.hpp>

#include <string>

namespace freeflow::apps {

/// Takes from the file what `found` does not hold yet. Throws IoError when it cannot be read and
/// InvalidArgument, with its name, for what is none of the options, one that only the command line
/// has, or no value of one.
void read_config(const std::string& path, const std::string& program,
                 const boost::program_options::options_description& options,
                 boost::program_options::variables_map& found);

}  // namespace freeflow::apps
