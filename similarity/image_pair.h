// The two images that a measure compares.
#pragma once

#include <freeflow/core/volume.h>

namespace freeflow {

/// The two images of one pyramid level. NaN voxels (outside a mask, invalid) do not count. It
/// refers to them: they must outlive it and whatever was prepared with it.
struct ImagePair {
  const Volume<float>& fixed;
  const Volume<float>& moving;
  PointMap fixed_to_moving;  ///< voxel indices to voxel indices, without the displacement
                             ///< (core/geometry.h index_map)
};

}  // namespace freeflow
