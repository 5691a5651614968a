// Private to io: the transforms in ITK's files of text and of MATLAB v4, read without ITK, whose
// readers believe whatever these declare: a transform of fewer numbers than its type has is read
// beyond their end, a field without voxels is freed twice, a grid with a spacing that is not finite
// aborts the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <freeflow/io/stored_transform.h>

namespace freeflow {

/// In the file's order, of a composite its head (no numbers) before its parts. Each throws IoError
/// for a file of another format, one that breaks off, and what check_transform_numbers refuses.
std::vector<StoredTransform> read_matlab_transforms(const std::string& path, std::uint64_t bytes);
std::vector<StoredTransform> read_text_transforms(const std::string& path);

/// Throws IoError for displacement fields and B-splines whose grid (sizes, origin, spacing and
/// direction) is no grid, and for fixed parameters that are not finite.
void check_transform_numbers(const std::string& path, const StoredTransform& transform);

}  // namespace freeflow
