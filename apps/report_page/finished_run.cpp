#include <apps/report_page/finished_run.h>

#include <algorithm>
#include <fstream>

#include <apps/bids.h>
#include <apps/report_page/report_values.h>
#include <freeflow/core/error.h>

namespace freeflow::apps {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

/// Its path beside the report; reports without "outputs" are older, and their names were these.
fs::path output(const FinishedRun& run, const char* kind, const char* older) {
  const bool says = run.json.contains("outputs");
  if (says) {
    const std::string name = text_in(run.json, std::string("/outputs/") + kind);
    return name.empty() ? fs::path() : run.report.parent_path() / name;
  }
  std::string start = run.report.filename().string();
  if (older == std::string() || !start.ends_with("report.json")) return {};
  start.resize(start.size() - std::string("report.json").size());
  const fs::path path = run.report.parent_path() / (start + older);
  return is_there(path) ? path : fs::path();
}

/// Those of runs with --bids and this -o, one for each pair of spaces.
std::vector<fs::path> bids_reports(const fs::path& prefix) {
  const fs::path folder = prefix.parent_path().empty() ? "." : prefix.parent_path();
  std::error_code none;
  std::vector<fs::path> reports;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (is_bids_transform(name, prefix.filename().string(), ".json") && entry.is_regular_file(none))
      reports.push_back(prefix.parent_path() / name);
  }
  std::ranges::sort(reports);
  return reports;
}

fs::path report_of(const std::string& prefix) {
  const bool named = prefix.ends_with(".json");
  if (named && is_file(prefix)) return prefix;
  fs::path plain = prefix + "report.json";
  if (is_file(plain)) return plain;
  const std::vector<fs::path> reports = bids_reports(prefix);
  if (reports.size() == 1) return reports.front();
  std::string names;
  for (const fs::path& report : reports)
    (names += names.empty() ? "'" : ", '").append(report.string()).append("'");
  require(reports.empty(), "several runs had the prefix '" + prefix + "'; name one of " + names);
  throw IoError("there is no '" + (named ? prefix : plain.string()) +
                "'; name the prefix that the registration's -o had, or its report");
}

}  // namespace

std::string name_of_report(const fs::path& report) {
  std::string name = report.stem().string();
  if (name.ends_with("report")) name.resize(name.size() - 6);
  while (!name.empty() && (name.back() == '_' || name.back() == '-' || name.back() == '.'))
    name.pop_back();
  return name.empty() ? fs::absolute(report).parent_path().filename().string() : name;
}

bool is_registration_report(const ordered_json& json) {
  const std::string program = text_in(json, "/program");
  return (program == "ffdreg" || program == "fluidreg" || program == "linreg" ||
          program == "freeflow.register") &&
         json.contains("fixed") && json.contains("moving");
}

FinishedRun read_finished_run(const std::string& prefix) {
  const fs::path path = report_of(prefix);
  std::ifstream file(path);
  const std::string name = path.string();
  FinishedRun run{path, ordered_json::parse(file, nullptr, false), name_of_report(path)};
  require(is_registration_report(run.json),
          "'" + name + "' is not a report of ffdreg, fluidreg, linreg or freeflow.register");
  return run;
}

std::string image_of_run(const FinishedRun& run, const std::string& side) {
  std::vector<std::string> named = texts_in(run.json, "/inputs/" + side);
  if (named.empty()) named = texts_in(run.json, "/options/" + side);
  const std::string report = run.report.string();
  require(!named.empty(), "'" + report + "' does not say which the " + side +
                              " image was; name it with --" + side + " FILE");
  const fs::path image = named.front();
  for (const fs::path& folder :
       {fs::path(text_in(run.json, "/inputs/folder")), fs::path(), run.report.parent_path()})
    if (is_file(folder / image)) return (folder / image).string();
  throw InvalidArgument("the " + side + " image '" + image.string() + "' of '" + report +
                        "' is not there; name it with --" + side + " FILE");
}

std::vector<std::string> transforms_of_run(const FinishedRun& run) {
  const fs::path whole = output(run, "transform", "");
  fs::path field = output(run, "warp", "1Warp.nii.gz");
  const fs::path affine = output(run, "affine", "0GenericAffine.mat");
  if (field.empty() && !run.json.contains("outputs")) field = output(run, "warp", "1Warp.nii");
  if (field.empty()) field = output(run, "control_points", "");
  std::vector<fs::path> files{whole};
  if (whole.empty()) files = {field, affine};
  if (is_linear_run(run.json) && whole.empty()) files = {affine};
  const std::string report = run.report.string();
  std::vector<std::string> found;
  for (const fs::path& file : files) {
    require(!file.empty(), "'" + report +
                               "' names no transform that was kept as a whole; run it again with "
                               "warp among --outputs, or name the files with -t");
    require(is_there(file),
            "the transform '" + file.string() + "' is not there; name the files with -t");
    found.push_back(file.string());
  }
  return found;
}

}  // namespace freeflow::apps
