// What a registration says when it has ended.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <apps/output_names.h>

namespace freeflow::apps {

/// The report's verdict, its figures in two lines, the times and what was written; what the report
/// does not hold is left out. Each line ends with a line break.
std::string closing_words(const std::string& program, const nlohmann::ordered_json& report,
                          const OutputNames& names);

}  // namespace freeflow::apps
