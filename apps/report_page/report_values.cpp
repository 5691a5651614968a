#include <apps/report_page/report_values.h>

#include <algorithm>
#include <cmath>

namespace freeflow::apps {

using nlohmann::ordered_json;

const ordered_json& value_in(const ordered_json& report, const std::string& pointer) {
  static const ordered_json none;
  const ordered_json::json_pointer at(pointer);
  return report.contains(at) ? report.at(at) : none;
}

std::optional<double> number_in(const ordered_json& report, const std::string& pointer) {
  const ordered_json& value = value_in(report, pointer);
  if (!value.is_number()) return {};
  const double number = value.get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string text_in(const ordered_json& report, const std::string& pointer) {
  const ordered_json& value = value_in(report, pointer);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::vector<std::string> texts_in(const ordered_json& report, const std::string& pointer) {
  const ordered_json& value = value_in(report, pointer);
  std::vector<std::string> texts;
  if (value.is_string()) texts.push_back(value.get<std::string>());
  if (value.is_array())
    for (const ordered_json& entry : value)
      if (entry.is_string()) texts.push_back(entry.get<std::string>());
  return texts;
}

double voxel_mm(const ordered_json& report) {
  double voxel = INFINITY;
  for (const char* axis : {"/0", "/1", "/2"})
    voxel = std::min(voxel,
                     number_in(report, std::string("/fixed/spacing_mm") + axis).value_or(INFINITY));
  return voxel;
}

bool is_linear_run(const ordered_json& report) {
  const std::string program = text_in(report, "/program");
  return program == "linreg" || (program == "freeflow.register" && !report.contains("jacobian"));
}

}  // namespace freeflow::apps
