// PREFIXreport.json and PREFIXreport.html: how a template was built and how good it is.
#pragma once

#include <string>

#include <boost/program_options.hpp>

#include <apps/atlas/labels.h>
#include <freeflow/atlas/atlas.h>

namespace freeflow::apps {

struct AtlasTimings {
  double reading = 0, building = 0, labels = 0, writing = 0, transforms = 0;
};

struct AtlasReport {
  const boost::program_options::variables_map& options;
  const AtlasOptions& settings;
  const AtlasResult& atlas;
  const TemplateLabels* labels;  ///< or null
  std::vector<std::string> warnings;
  AtlasTimings seconds;
  std::size_t predicted_bytes = 0;
  int processes = 1;
};

/// Throws IoError.
void write_atlas_report(const std::string& path, const Context& ctx, const AtlasReport& report);

/// What atlas says when it has ended: rounds, the subject that is least like the template, times,
/// and `files`, which were written.
std::string closing_words(const AtlasReport& report, const std::string& files);

/// A page that needs no other file. Throws IoError.
void write_atlas_page(const std::string& path, Context& ctx, const AtlasReport& report);

}  // namespace freeflow::apps
