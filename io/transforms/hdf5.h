// Private to io: ITK's transforms as chains of affines and fields, and .h5 files of them.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/stored_transform.h>
#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// One transform, or the parts of one composite, in any order: what the file of that path holds.
/// Throws IoError.
HostTransform chain_of(const std::string& path, std::vector<StoredTransform> transforms);
/// The same of an .h5 file. Throws IoError, Cancelled.
HostTransform read_hdf5(const std::string& path);

/// Doubles, so that reading gives the field's bits back. One affine stands alone, as ANTs and ITK
/// write it; everything else is a composite. Throws IoError, WriteError.
void write_hdf5(const std::string& path, const HostTransform& transform);

}  // namespace freeflow
