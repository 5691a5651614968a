#include <apps/atlas/older_outputs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include <apps/report_page/report_values.h>

namespace freeflow::apps {

namespace fs = std::filesystem;

namespace {

/// Other files of a subject's name, as of a registration to the template, are not of the template.
std::set<std::string> names_of(const AtlasCommand& command,
                               const std::vector<ListedSubject>& subjects) {
  std::set<std::string> names;
  for (const ListedSubject& s : subjects) names.insert(s.name);
  std::ifstream file(command.output + "report.json");
  const auto report = nlohmann::ordered_json::parse(file, nullptr, false);
  if (text_in(report, "/program") != "atlas" || !report.contains("members")) return names;
  for (const auto& member : report["members"]) names.insert(text_in(member, "/name"));
  return names;
}

bool is_of_template(const std::string& suffix) {
  const bool further_channel = suffix.size() == std::string("template2.nii.gz").size() &&
                               suffix.starts_with("template") && suffix.ends_with(".nii.gz");
  return suffix == "labels.nii.gz" || suffix == "agreement.nii.gz" || further_channel ||
         (suffix.starts_with("probability_") && suffix.ends_with(".nii.gz"));
}

bool is_of_subject(const std::string& suffix, const std::set<std::string>& names) {
  return std::ranges::any_of(std::array{"_0GenericAffine.mat", "_1Warp.nii.gz",
                                        "_1InverseWarp.nii.gz", "_LogJacobian.nii.gz"},
                             [&](const std::string& end) {
                               return suffix.ends_with(end) &&
                                      names.contains(suffix.substr(0, suffix.size() - end.size()));
                             });
}

}  // namespace

std::vector<std::string> older_outputs(const AtlasCommand& command,
                                       const std::vector<ListedSubject>& subjects,
                                       const std::vector<std::string>& written) {
  const fs::path prefix = command.output;
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  const std::string begin = prefix.filename().string();
  const std::set<std::string> names = names_of(command, subjects);
  std::vector<std::string> older;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string suffix = name.substr(begin.size());
    if ((is_of_template(suffix) || is_of_subject(suffix, names)) &&
        std::ranges::find(written, suffix) == written.end())
      older.push_back(command.output + suffix);
  }
  std::ranges::sort(older);
  return older;
}

}  // namespace freeflow::apps
