// Where a registration looks.
#pragma once

#include <freeflow/core/volume.h>

namespace freeflow {

/// Images whose voxels above 0.5 count, above half of their largest value where none is; null or
/// empty: everywhere. They must outlive the registration.
struct Masks {
  const Volume<float>* fixed = nullptr;   ///< on the fixed image's grid
  const Volume<float>* moving = nullptr;  ///< on the moving image's grid
};

}  // namespace freeflow
