// Private to io: .h5 files of ITK's transforms as chains of affines and fields.
#pragma once

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// One transform, or the parts of one composite, in any order. Throws IoError, Cancelled.
HostTransform read_hdf5(const std::string& path);

/// Doubles, so that reading gives the field's bits back. One affine stands alone, as ANTs and ITK
/// write it; everything else is a composite. Throws IoError, WriteError.
void write_hdf5(const std::string& path, const HostTransform& transform);

}  // namespace freeflow
