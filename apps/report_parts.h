// Private to apps: what the reports of all programs are made of.
#pragma once

#include <boost/program_options.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include <freeflow/core/geometry.h>

namespace freeflow::apps {

nlohmann::ordered_json options_json(const boost::program_options::variables_map& options);
nlohmann::ordered_json geometry_json(const Geometry& geometry, std::size_t nonfinite_voxels);
std::size_t peak_host_bytes();
/// Throws IoError.
void write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace freeflow::apps
