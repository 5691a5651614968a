// What is written of every subject: its transforms to the finished template, as the registration
// programs write them, and how they change volumes.
#pragma once

#include <string>
#include <vector>

#include <apps/atlas/command.h>
#include <apps/atlas/subject_list.h>
#include <freeflow/atlas/state_folder.h>

namespace freeflow::apps {

/// Registers every listed subject to PREFIXtemplate.nii.gz, as fluidreg or ffdreg would with the
/// options' model, and writes what the command asks for: PREFIXNAME_0GenericAffine.mat and the
/// warps, and PREFIXNAME_LogJacobian.nii.gz of the whole map from template to subject. A linear
/// search that was chosen is that of their linear stages, too. Those that were written for this
/// template and these options already are left as they are. Throws as the programs do.
void write_member_files(Context& ctx, const AtlasCommand& command, const AtlasOptions& options,
                        const AtlasResult& atlas, const std::vector<ListedSubject>& subjects,
                        StateFolder& state);

/// What follows the prefix in the names of those files.
std::vector<std::string> member_suffixes(const AtlasCommand& command,
                                         const std::vector<ListedSubject>& subjects);

/// How the transforms of a subject take images to the template and labels back, as commands.
std::string transform_commands(const AtlasCommand& command, const ListedSubject& subject);

}  // namespace freeflow::apps
