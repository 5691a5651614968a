// Private to io: what ITK's transform files say, looked at before ITK reads them. ITK believes
// whatever they declare: a field without voxels is freed twice, a grid with a spacing that is not
// finite aborts the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace freeflow {

/// Each throws IoError for a file of another format, one that breaks off, and displacement fields
/// whose grid is no grid.
void check_matlab_transform(const std::string& path, std::uint64_t bytes);
void check_text_transform(const std::string& path);

/// The same of the numbers of a transform of ITK's name `type`. fixed: of a displacement field its
/// sizes, origin, spacing and direction.
void check_transform_numbers(const std::string& path, const std::string& type,
                             const std::vector<double>& fixed, std::uint64_t parameters);

}  // namespace freeflow
