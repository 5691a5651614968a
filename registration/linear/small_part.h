// Private: a mask that leaves a small part of what its image shows, as an organ or a vertebra, says
// little of where that part lies in the other image. What surrounds it knows.
#pragma once

#include <freeflow/registration/levels/prepared_image.h>

namespace freeflow {

/// Whether there is one mask, which leaves less than 0.6 of the radius of what its image shows or a
/// fifth of a ball of that radius, as a cortex, and the two images show about as much. Of two masks
/// nothing outside counts. In a rehearsal whether there is one mask.
bool mask_leaves_small_part(Context& ctx, PreparedImage& fixed, PreparedImage& moving);

/// All channels, which stay with the image, without its mask.
PreparedImage without_mask(Context& ctx, PreparedImage& image);

}  // namespace freeflow
