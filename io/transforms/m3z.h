// Private to io/transforms: FreeSurfer's morphs, .m3z (gzip) and .m3d. Nodes on a coarse grid of
// the atlas hold the place in the image, in its voxels or in RAS millimetres. After __m3zRead of
// FreeSurfer's gcamorph.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// Atlas (fixed) to image (moving). Throws IoError.
HostTransform read_m3z(const std::string& path);

}  // namespace freeflow
