// The outputs of a registration program.
#pragma once

#include <apps/images.h>
#include <apps/output_names.h>
#include <freeflow/registration/registration_result.h>

namespace freeflow::apps {

/// Writes the transforms and the warped images that have a name into the set, without committing
/// it, the images of every channel; `result` has its inverse where one of them needs it. Outside
/// the source image a warped image takes that image's smallest value.
void write_results(Context& ctx, const Outputs& outputs, const Inputs& inputs,
                   const DeviceInputs& images, const RegistrationResult& result,
                   Interpolation interpolation);

/// The same of a linear registration.
void write_linear_results(Context& ctx, const Outputs& outputs, const Inputs& inputs,
                          const DeviceInputs& images, const LinearResult& result,
                          Interpolation interpolation);

}  // namespace freeflow::apps
