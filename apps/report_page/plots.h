// The cost of a registration as plots.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace freeflow::apps {

/// A curve for each level of each stage, cost over iteration, each with a range of its own, as
/// costs of different levels are not comparable; and a table. Empty where the report has no levels.
std::string cost_section(const nlohmann::ordered_json& report);

}  // namespace freeflow::apps
