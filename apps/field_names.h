// The library's sentences name its fields (FfdOptions::bending); a user of a program knows flags.
#pragma once

#include <string>
#include <vector>

namespace freeflow::apps {

/// The sentence with flags for fields: "FfdOptions::log_jacobian must lie ..." becomes
/// "--log-jacobian must lie ...".
std::string translated(const std::string& sentence);
std::vector<std::string> translated(const std::vector<std::string>& sentences);

}  // namespace freeflow::apps
