// A registration that has ended, as its report.json and the files that it names describe it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace freeflow::apps {

struct FinishedRun {
  std::filesystem::path report;  ///< its report.json
  nlohmann::ordered_json json;
  std::string name;  ///< for people: the report's name without its end
};

/// Whether JSON is a report of ffdreg, fluidreg or linreg.
bool is_registration_report(const nlohmann::ordered_json& json);

/// What people call it by: the name without "report" and its end, or the folder's where nothing
/// else is left.
std::string name_of_report(const std::filesystem::path& report);

/// Of PREFIX as -o had it (PREFIXreport.json, or the one that --bids named), or of the report's own
/// path. Throws IoError where there is none, InvalidArgument where it is none or one of several.
FinishedRun read_finished_run(const std::string& prefix_or_report);

/// The first channel's file, "fixed" or "moving", where it lies now: as the run named it, from the
/// folder of the run, from here or from beside the report. Throws InvalidArgument with the option
/// that names it where there is none.
std::string image_of_run(const FinishedRun& run, const std::string& side);

/// The transform's files, a field before its affine. Throws InvalidArgument where the run kept only
/// a part of it, or one is gone.
std::vector<std::string> transforms_of_run(const FinishedRun& run);

}  // namespace freeflow::apps
