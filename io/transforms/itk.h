// Private to io/transforms. ITK's transforms: .mat (MATLAB v4), .tfm, .txt, .h5, and displacement
// fields as images. Points map from fixed to moving in LPS millimetres; in a composite the last is
// applied first.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_itk(const std::string& path, const TransformContext& context);
void write_itk(const std::string& path, const HostTransform& transform,
               const TransformContext& context);

}  // namespace freeflow
