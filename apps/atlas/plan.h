// What atlas --dry-run says.
#pragma once

#include <string>

#include <apps/atlas/command.h>
#include <apps/atlas/subject_list.h>

namespace freeflow::apps {

/// Reads headers only, and times a small registration on the device. Throws IoError for a file that
/// cannot be read.
std::string plan_of(Context& ctx, const AtlasCommand& command, const AtlasOptions& options,
                    const std::vector<ListedSubject>& subjects, int processes);

}  // namespace freeflow::apps
