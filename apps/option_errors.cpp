#include <apps/option_errors.h>

#include <algorithm>
#include <map>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

/// Gives access to the words that a message is made of.
struct Words : po::error_with_option_name {
  static std::map<std::string, std::string>& of(po::error_with_option_name& e) {
    return e.*(&Words::m_substitutions);
  }
};

}  // namespace

std::string message_of(po::error& e) {
  if (dynamic_cast<po::too_many_positional_options_error*>(&e))
    return "a word stands where an option should: each takes one value (-t A -t B, --spacing "
           "10mm), "
           "and a name with blanks stands in quotes";
  constexpr char stand_in = '\x01';
  if (auto* named = dynamic_cast<po::error_with_option_name*>(&e))
    for (auto& [name, word] : Words::of(*named)) std::ranges::replace(word, '%', stand_in);
  std::string message = e.what();
  std::ranges::replace(message, stand_in, '%');
  return message;
}

}  // namespace freeflow::apps
