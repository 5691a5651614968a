// Private to io/transforms. NiftyReg's transforms: reference (fixed) to floating (moving) points,
// RAS millimetres. Affines are 4 x 4 text; fields and grids are 5-D NIfTI named NREG_TRANS, their
// kind in intent_p1.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_niftyreg(const std::string& path, const TransformContext& context);
void write_niftyreg(const std::string& path, const HostTransform& transform,
                    const TransformContext& context);

}  // namespace freeflow
