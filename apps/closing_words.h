// What programs say when they have ended.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <apps/output_names.h>

namespace freeflow::apps {

/// Of a registration: the report's verdict, its figures in two lines, the times and what was
/// written; what the report does not hold is left out. Each line ends with a line break.
std::string closing_words(const std::string& program, const nlohmann::ordered_json& report,
                          const OutputNames& names);

/// The line of such times, {"reading": 0.1, ...}, and their sum.
std::string time_line(const nlohmann::ordered_json& seconds);
/// The line of what was written.
std::string written_line(const std::string& files);

}  // namespace freeflow::apps
