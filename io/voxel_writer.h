// Private to io: writes a grid of scalars or vectors in the format that the file name asks for.
#pragma once

#include <string>

#include <freeflow/core/geometry.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

/// `values` holds `components` interleaved values of `type` per voxel. A .nii.gz is written as .nii
/// beside its place and compressed from there by `threads` threads: ITK's own compression uses one.
/// Throws IoError; InvalidArgument for an unusable geometry.
void write_voxels(const std::string& path, const Geometry& geometry, int components,
                  StoredType type, const void* values, int threads);

}  // namespace freeflow
