// Of what a pair's outputs were made, kept in its report, so that a run that was killed goes on
// where it stopped.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <apps/options.h>
#include <apps/output_names.h>

namespace freeflow::apps {

/// Program, version, the contents of the pair's files (content_hash.h) and the options that change
/// results. Throws IoError where a file cannot be read.
nlohmann::ordered_json made_from(const Program& program, const CommonOptions& pair);

/// Adds `from`, and how long the other files are, to the report of outputs that are all written.
void keep_origin(nlohmann::ordered_json& report, const nlohmann::ordered_json& from,
                 const Outputs& outputs);

/// The report of outputs that are in their places, complete, and were made from `from`; nothing
/// where they are not.
std::optional<nlohmann::ordered_json> report_of_finished(const OutputNames& names,
                                                         const nlohmann::ordered_json& from);

}  // namespace freeflow::apps
