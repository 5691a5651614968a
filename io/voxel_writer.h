// Private to io: writes a grid of scalars or vectors in the format that the file name asks for.
#pragma once

#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

/// `planes` holds the values of `type` of one component after the other, x fastest. `threads`
/// compress .nii.gz. Throws IoError; InvalidArgument for an unusable geometry.
void write_voxels(const std::string& path, const Geometry& geometry, int components,
                  StoredType type, const void* planes, int threads);

/// Planes of `count` values each with the components of a voxel brought together.
std::vector<unsigned char> interleaved(const unsigned char* planes, std::size_t count,
                                       int components, std::size_t value_bytes);

}  // namespace freeflow
