// Private to io: ITK's transforms as chains of affines and fields, and .h5 files of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <freeflow/io/stored_transform.h>
#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// One transform, or the parts of one composite, in any order: what the file of that path holds.
/// `fixed`: the grid on which a B-spline is evaluated. Throws IoError, and InvalidArgument where
/// that grid is needed and lacks.
HostTransform chain_of(const std::string& path, std::vector<StoredTransform> transforms,
                       const std::optional<Geometry>& fixed);
/// The same of an .h5 file. Throws Cancelled, too.
HostTransform read_hdf5(const std::string& path, const std::optional<Geometry>& fixed);

/// Doubles, so that reading gives the field's bits back. One affine stands alone, as ANTs and ITK
/// write it; everything else is a composite. Throws IoError, WriteError.
void write_hdf5(const std::string& path, const HostTransform& transform);

}  // namespace freeflow
