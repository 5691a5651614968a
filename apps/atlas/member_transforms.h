// Every subject's transforms to a finished template, as the registration programs write them.
#pragma once

#include <string>
#include <vector>

#include <apps/atlas/command.h>
#include <apps/atlas/subject_list.h>
#include <freeflow/atlas/state_folder.h>

namespace freeflow::apps {

/// Registers every listed subject to PREFIXtemplate.nii.gz, as fluidreg or ffdreg would with the
/// model's options, and writes PREFIXNAME_0GenericAffine.mat and the warps. Those that were written
/// for this template and these options already are left as they are. Throws as the programs do.
void write_member_transforms(Context& ctx, const AtlasCommand& command, const NonrigidModel& model,
                             const std::vector<ListedSubject>& subjects, StateFolder& state);

}  // namespace freeflow::apps
