#include <apps/made_from.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include <apps/report_parts.h>
#include <freeflow/io/content_hash.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

/// Files, whose contents count, and what changes no bit of the results.
constexpr const char* left_out[] = {"fixed",  "moving",  "fixed-mask", "moving-mask", "init",
                                    "output", "pairs",   "summary",    "config",      "device",
                                    "jobs",   "threads", "verbose",    "quiet",       "report"};

ordered_json hashes(const std::vector<std::string>& files) {
  ordered_json list = ordered_json::array();
  for (const std::string& file : files)
    list.push_back(is_start_word(file) ? file : content_hash(file));
  return list;
}

ordered_json sizes_of(const OutputNames& names, const std::function<std::string(std::string)>& at) {
  ordered_json sizes;
  for (const std::string& name : names.all())
    if (name != names.report && name != names.page)
      sizes[name] = std::filesystem::file_size(at(name));
  return sizes;
}

}  // namespace

ordered_json made_from(const Program& program, const CommonOptions& pair) {
  ordered_json options = options_json(program.found);
  for (const char* name : left_out) options.erase(name);
  ordered_json from{{"program", program.name}, {"version", FREEFLOW_VERSION}};
  from["fixed"] = hashes(pair.fixed);
  from["moving"] = hashes(pair.moving);
  from["init"] = hashes(pair.init);
  if (!pair.fixed_mask.empty()) from["fixed_mask"] = content_hash(pair.fixed_mask);
  if (!pair.moving_mask.empty()) from["moving_mask"] = content_hash(pair.moving_mask);
  from["options"] = options;
  // Levels of few voxels are left out unless the number is given, be it the default one.
  if (program.name != "linreg" && !program.found["levels"].defaulted()) from["levels_given"] = true;
  return from;
}

void keep_origin(ordered_json& report, const ordered_json& from, const Outputs& outputs) {
  report["made_from"] = from;
  report["bytes_of_files"] =
      sizes_of(outputs.names, [&](const std::string& name) { return outputs.set.file(name); });
}

std::optional<ordered_json> report_of_finished(const OutputNames& names, const ordered_json& from) {
  try {
    std::ifstream file(names.prefix + names.report);
    ordered_json report = ordered_json::parse(file);
    // A page that the report does not name is of an older result.
    const bool has_page =
        report.at("outputs").contains("page") && std::filesystem::exists(names.prefix + names.page);
    const bool complete =
        (names.page.empty() || has_page) && report.at("made_from") == from &&
        report.at("bytes_of_files") ==
            sizes_of(names, [&](const std::string& name) { return names.prefix + name; });
    return complete ? std::optional(std::move(report)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;  // no report, another's, or a file that is gone
  }
}

}  // namespace freeflow::apps
