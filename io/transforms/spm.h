// Private to io/transforms. SPM's deformations (y_*.nii): 5-D NIfTI named "Mapping" that hold for
// each voxel the position in the other image, RAS millimetres.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_spm(const std::string& path, const TransformContext& context);
void write_spm(const std::string& path, const HostTransform& transform,
               const TransformContext& context);

}  // namespace freeflow
