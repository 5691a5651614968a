// Private to io and apps: voxels as they are stored in files, as floats and as labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freeflow/io/stored_type.h>

namespace freeflow {

/// The numbers themselves: no scaling.
std::vector<float> to_floats(StoredType type, const unsigned char* stored, std::size_t count);

/// Integer types round to the nearest and clamp to their range; NaN becomes 0.
std::vector<unsigned char> from_floats(StoredType type, const float* values, std::size_t count);

/// Integers as 64 bits: a signed type's with its sign extended. Of floats those that are integers
/// up to 2^53; throws IoError, naming `path`, for others.
std::vector<std::uint64_t> to_labels(const std::string& path, StoredType type,
                                     const unsigned char* stored, std::size_t count);

/// What to_labels() made of voxels of type `from`. Throws IoError, naming `path`, for a label that
/// the type cannot hold.
std::vector<unsigned char> from_labels(const std::string& path, StoredType type,
                                       const std::vector<std::uint64_t>& labels, StoredType from);

}  // namespace freeflow
