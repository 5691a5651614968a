#include <apps/report_parts.h>

#include <ctime>
#include <filesystem>

namespace freeflow::apps {

using nlohmann::ordered_json;

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

ordered_json inputs_json(const CommonOptions& o) {
  std::error_code none;
  ordered_json json{{"folder", std::filesystem::current_path(none).string()},
                    {"fixed", o.fixed},
                    {"moving", o.moving},
                    {"init", o.init}};
  if (!o.fixed_mask.empty()) json["fixed_mask"] = o.fixed_mask;
  if (!o.moving_mask.empty()) json["moving_mask"] = o.moving_mask;
  return json;
}

ordered_json outputs_json(const OutputNames& names) {
  const auto file = [&](const std::string& name) {
    return std::filesystem::path(names.prefix + name).filename().string();
  };
  ordered_json json = ordered_json::object();
  const auto add = [&](const char* kind, const std::string& name) {
    if (!name.empty()) json[kind] = file(name);
  };
  const auto add_channels = [&](const char* kind, const std::vector<std::string>& channels) {
    for (const std::string& name : channels) json[kind].push_back(file(name));
  };
  const bool whole = names.affine.empty();
  add("affine", names.affine);
  add(whole ? "transform" : "warp", names.forward);
  add("control_points", names.lattice);
  add(whole ? "inverse_transform" : "inverse_warp", names.back);
  add_channels("warped", names.warped);
  add_channels("inverse_warped", names.inverse_warped);
  add("report", names.report);
  add("page", names.page);
  return json;
}

void iterations_last(ordered_json& report) {
  for (const char* with_iterations : {"linear", "levels"}) {
    if (!report.contains(with_iterations)) continue;
    ordered_json part = std::move(report[with_iterations]);
    report.erase(with_iterations);
    report[with_iterations] = std::move(part);
  }
}

}  // namespace freeflow::apps
