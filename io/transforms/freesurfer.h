// Private to io/transforms. FreeSurfer's transforms: .lta (source to destination, so moving to
// fixed, between voxels or RAS points) and .m3z morphs (atlas, so fixed, to image voxels).
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_freesurfer(const std::string& path, const TransformContext& context);
void write_freesurfer(const std::string& path, const HostTransform& transform,
                      const TransformContext& context);

}  // namespace freeflow
