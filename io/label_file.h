// Label volumes in files: integers of any type, exactly. They never pass through float.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/compression.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

struct HostLabels {
  Geometry geometry;
  /// x fastest, as 64 bits: a signed type's with its sign extended, so that negative labels come
  /// last.
  std::vector<std::uint64_t> labels;
  StoredType stored_type = StoredType::uint8;
  /// One sentence each, for the user: an orientation that was repaired or that others read
  /// differently.
  std::vector<std::string> warnings;
};

/// Reads one scalar volume of integers, or of floats whose values are all integers up to 2^53.
/// Throws IoError as read_image does, and when a value is no integer or the file scales them.
HostLabels read_labels(const std::string& path);

/// Writes .nii, .nii.gz, .mha, .nrrd, .mgz or .mgh by the extension, as labels.stored_type. Throws
/// IoError, and InvalidArgument when the number of voxels does not fit the geometry.
void write_labels(const std::string& path, const HostLabels& labels,
                  const Compression& compression = {});

}  // namespace freeflow
