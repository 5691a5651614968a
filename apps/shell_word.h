// Commands that people paste into a shell.
#pragma once

#include <string>

namespace freeflow::apps {

/// The word as it stands in a command: within quotation marks where a shell would see more in it
/// than letters.
std::string shell_word(const std::string& word);

}  // namespace freeflow::apps
