// Reads values of a report, which may be older, cut or another program's.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace freeflow::apps {

/// Null where there is nothing at the pointer, such as "/jacobian/min".
const nlohmann::ordered_json& value_in(const nlohmann::ordered_json& report,
                                       const std::string& pointer);
/// Nothing for what is no finite number.
std::optional<double> number_in(const nlohmann::ordered_json& report, const std::string& pointer);
/// Empty for what is no text.
std::string text_in(const nlohmann::ordered_json& report, const std::string& pointer);
/// Of a text, or of an array's texts.
std::vector<std::string> texts_in(const nlohmann::ordered_json& report, const std::string& pointer);
/// The smallest side of the fixed image's voxels; infinite where the report does not say.
double voxel_mm(const nlohmann::ordered_json& report);
/// How much larger its affine makes a volume of the fixed space; nothing where it has none.
std::optional<double> volume_factor_of_affine(const nlohmann::ordered_json& report);
/// Whether it found an affine and no displacement, by linreg or in Python.
bool is_linear_run(const nlohmann::ordered_json& report);

}  // namespace freeflow::apps
