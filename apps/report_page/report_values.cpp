#include <apps/report_page/report_values.h>

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

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

std::optional<double> volume_factor_of_affine(const ordered_json& report) {
  Eigen::Matrix3d m;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) {
      const auto entry = number_in(report, "/linear/fixed_to_moving_lps/" + std::to_string(row) +
                                               "/" + std::to_string(column));
      if (!entry) return {};
      m(row, column) = *entry;
    }
  return std::abs(m.determinant());
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
