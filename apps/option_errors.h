// What is wrong with options, in Boost's words.
#pragma once

#include <boost/program_options/errors.hpp>

#include <string>

namespace freeflow::apps {

/// e.what(), whatever the user wrote: Boost puts the user's words into its message and then looks
/// for its placeholders in them, too, without an end where it finds one (`--levels %value%`).
std::string message_of(boost::program_options::error& e);

}  // namespace freeflow::apps
