// How far two images overlap under a transform.
#pragma once

#include <freeflow/similarity/image_pair.h>

namespace freeflow {

/// The part of the fixed level's valid voxels that fall on valid moving voxels at displacement u
/// (voxels of the fixed grid; null data: none), in [0, 1]. Waits.
double overlap_fraction(Context& ctx, const ImagePair& images, FieldView<const float> u);

}  // namespace freeflow
