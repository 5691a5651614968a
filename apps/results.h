// The outputs of a registration program, named as ANTs names them.
#pragma once

#include <apps/images.h>
#include <freeflow/io/output_set.h>
#include <freeflow/registration/registration_result.h>

namespace freeflow::apps {

/// `result` has its inverse. Writes 0GenericAffine.mat, 1Warp, 1InverseWarp, Warped and
/// InverseWarped (.nii.gz) into the set, without committing it. Outside the source image a warped
/// image takes that image's smallest value.
void write_results(Context& ctx, const OutputSet& outputs, const Inputs& inputs,
                   const Volume<float>& fixed, const Volume<float>& moving,
                   const RegistrationResult& result, Interpolation interpolation);

/// Writes 0GenericAffine.mat, Warped and InverseWarped (.nii.gz) of a linear registration into the
/// set, without committing it.
void write_linear_results(Context& ctx, const OutputSet& outputs, const Inputs& inputs,
                          const Volume<float>& fixed, const Volume<float>& moving,
                          const LinearResult& result, Interpolation interpolation);

}  // namespace freeflow::apps
