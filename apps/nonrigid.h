// What ffdreg and fluidreg share: read, register, write. They differ in the options of the nonrigid
// model.
#pragma once

#include <apps/options.h>
#include <freeflow/registration/register_images.h>

namespace freeflow::apps {

inline const std::vector<std::string> nonrigid_files = {"0GenericAffine.mat",   "1Warp.nii.gz",
                                                        "1InverseWarp.nii.gz",  "Warped.nii.gz",
                                                        "InverseWarped.nii.gz", "report.json"};

/// Sets what the shared options say of a model.
void apply_common(const CommonOptions& common, LevelOptions& options);

/// One run of a program after its command line is understood. Returns the exit status.
int run_nonrigid(const std::string& program, const CommonOptions& common,
                 const boost::program_options::variables_map& found, NonrigidModel model);

}  // namespace freeflow::apps
