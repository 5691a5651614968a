// Private to io/transforms. AFNI's transforms: base (fixed) to source (moving) points in DICOM
// (LPS) millimetres. Affines are rows of twelve numbers; AFNI takes oblique images as if their axes
// were cardinal, which is composed into the map. Warps are NIfTI displacements.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// As read_transform_file and write_transform_file.
HostTransform read_afni(const std::string& path, const TransformContext& context);
/// Of what was written without both geometries, a sentence.
std::vector<std::string> said_of_written_afni(const std::string& path,
                                              const TransformContext& context);
void write_afni(const std::string& path, const HostTransform& transform,
                const TransformContext& context);

}  // namespace freeflow
