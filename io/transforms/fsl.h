// Private to io/transforms. FSL's transforms. Its points are in scaled voxels: index times voxel
// size in millimetres, x counted from the other end when the determinant of index to world is
// positive. A FLIRT matrix maps moving (source) to fixed (reference) points; FNIRT fields and
// coefficients map fixed to moving ones.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_fsl(const std::string& path, const TransformContext& context);
void write_fsl(const std::string& path, const HostTransform& transform,
               const TransformContext& context);

}  // namespace freeflow
