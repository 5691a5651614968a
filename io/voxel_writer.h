// Private to io: writes a grid of scalars or vectors in the format that the file name asks for.
#pragma once

#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/gzip_writer.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

/// `planes` holds the values of `type` of one component after the other, x fastest. Throws IoError;
/// InvalidArgument for an unusable geometry.
void write_voxels(const std::string& path, const Geometry& geometry, int components,
                  StoredType type, const void* planes, const Compression& compression);

/// The same of 3-vectors of floats that are made only while they are written: `make` gives bytes of
/// what `planes` would hold (gzip_writer.h).
void write_vectors(const std::string& path, const Geometry& geometry, const ByteMaker& make,
                   const Compression& compression);

/// Planes of `count` values each with the components of a voxel brought together.
std::vector<unsigned char> interleaved(const unsigned char* planes, std::size_t count,
                                       int components, std::size_t value_bytes);

}  // namespace freeflow
