// PREFIXreport.json of nlmdenoise.
#pragma once

#include <boost/program_options.hpp>

#include <string>

#include <apps/surface_input.h>
#include <freeflow/denoise/nonlocal_means.h>
#include <freeflow/denoise/topology.h>

namespace freeflow::apps {

struct SurfaceReportInput {
  const boost::program_options::variables_map& options;
  const SurfaceInput& input;
  const NonlocalMeansResult& result;
  Topology before, after;
  double reading_seconds = 0, denoising_seconds = 0, writing_seconds = 0;
};

/// Throws IoError when the file cannot be written.
void write_surface_report(const std::string& path, const Context& ctx,
                          const SurfaceReportInput& input);

}  // namespace freeflow::apps
