// Inputs of which one shows an object without what surrounds it in the other.
#pragma once

#include <apps/images.h>
#include <freeflow/core/context.h>

namespace freeflow::apps {

/// Beside an image that shows more an object counts without the background that it was given: its
/// image gets a mask, and the inputs a warning. Unless a mask or a background says what counts.
/// Returns whether there is such an object. Waits; takes next to no time where none can be.
bool leave_stripped_out(Context& ctx, const CommonOptions& options, Inputs& inputs);

}  // namespace freeflow::apps
