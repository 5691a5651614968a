// Private to apps: what the reports of all programs are made of.
#pragma once

#include <boost/program_options.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include <apps/options.h>
#include <apps/output_names.h>
#include <freeflow/core/geometry.h>

namespace freeflow::apps {

nlohmann::ordered_json options_json(const boost::program_options::variables_map& options);
nlohmann::ordered_json geometry_json(const Geometry& geometry, std::size_t nonfinite_voxels);
std::size_t peak_host_bytes();
/// "2026-11-23T11:30:00Z".
std::string now_utc();
/// The files that a run reads, as they were named, and the folder that these names start from.
nlohmann::ordered_json inputs_json(const CommonOptions& options);
/// The files that it writes, by kind, without their folder, which is the report's.
nlohmann::ordered_json outputs_json(const OutputNames& names);
/// Moves what is long to the end.
void iterations_last(nlohmann::ordered_json& report);
/// Throws IoError.
void write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace freeflow::apps
