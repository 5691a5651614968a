// Private to io/transforms. MRtrix's transforms: fixed to moving points, scanner RAS millimetres.
// Affines are 4 x 4 text, warps 4-D NIfTI of positions.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_mrtrix(const std::string& path, const TransformContext& context);
void write_mrtrix(const std::string& path, const HostTransform& transform,
                  const TransformContext& context);

}  // namespace freeflow
