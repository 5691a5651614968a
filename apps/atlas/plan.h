// What atlas --dry-run says.
#pragma once

#include <string>

#include <apps/atlas/command.h>
#include <apps/atlas/subject_list.h>

namespace freeflow::apps {

/// Times a small registration on the device, where work is left beside what is kept. Throws IoError
/// for a file that cannot be read.
std::string plan_of(Context& ctx, const AtlasCommand& command, const AtlasOptions& options,
                    const std::vector<ListedSubject>& subjects, int processes,
                    const KeptWork& kept);

/// What a run writes beside its state: of `channels` images a subject, and of labels where there
/// are.
std::string files_in_words(const AtlasCommand& command, std::size_t channels, bool labels);

}  // namespace freeflow::apps
