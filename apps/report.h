// PREFIXreport.json: what was asked, what was done, how well and how fast.
#pragma once

#include <optional>
#include <string>

#include <apps/images.h>
#include <apps/output_names.h>
#include <freeflow/registration/registration_result.h>
#include <freeflow/registration/report_figures.h>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

namespace freeflow::apps {

struct Timings {
  double reading = 0, stripped = 0, linear = 0, nonrigid = 0, inverting = 0, report = 0,
         writing = 0;
};

/// What a report of any registration is of.
struct ReportedRun {
  std::string program;
  const boost::program_options::variables_map& options;
  const CommonOptions& common;
  const OutputNames& names;
  const Inputs& inputs;
  Timings seconds;
  std::size_t predicted_bytes = 0;
  Similarities similarity;
};

/// What the report holds; ["seconds"]["writing"] is for who ends the writing.
nlohmann::ordered_json report_of(const Context& ctx, const ReportedRun& run,
                                 const LinearResult& result);
nlohmann::ordered_json report_of(const Context& ctx, const ReportedRun& run,
                                 const RegistrationResult& result, const DisplacementRange& range);

/// "160x192x224 voxels of 1x1x1 mm".
std::string describe(const Geometry& geometry);
/// A line for each of the two images.
std::string describe(const Inputs& inputs);

}  // namespace freeflow::apps
