// What an earlier run of atlas left beside a new template.
#pragma once

#include <string>
#include <vector>

#include <apps/atlas/command.h>
#include <apps/atlas/subject_list.h>

namespace freeflow::apps {

/// The files of PREFIX that atlas writes, of the listed subjects or of those that the report in
/// PREFIX names, and that are not among `written` (what follows the prefix), in order. Before that
/// report is replaced.
std::vector<std::string> older_outputs(const AtlasCommand& command,
                                       const std::vector<ListedSubject>& subjects,
                                       const std::vector<std::string>& written);

}  // namespace freeflow::apps
