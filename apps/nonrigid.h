// What ffdreg and fluidreg share: read, register, write. They differ in the options of the nonrigid
// model.
#pragma once

#include <apps/options.h>
#include <freeflow/registration/register_images.h>

namespace freeflow::apps {

/// Sets what the shared options say of a model.
void apply_common(const CommonOptions& common, LevelOptions& options);

/// What closes the help of such a program.
std::string nonrigid_example(const std::string& program);

/// The run of a program after its command line is understood (pair_list.h): registers each pair and
/// writes nonrigid_names(). Returns the exit status.
int run_nonrigid(const std::string& program, const std::vector<CommonOptions>& pairs,
                 const boost::program_options::variables_map& found, const NonrigidModel& model);

}  // namespace freeflow::apps
