// Two images whose lengths cannot both be millimetres.
#pragma once

#include <optional>
#include <string>

#include <freeflow/core/geometry.h>

namespace freeflow::apps {

/// The longest side of the grid.
double longest_side_mm(const Geometry& grid);

/// A sentence where one is a hundred times as long as the other: no two images of one thing differ
/// so much, unless the lengths of one are in another unit.
std::optional<std::string> said_of_sizes(const std::string& file, const Geometry& grid,
                                         const std::string& other_file, const Geometry& other);

}  // namespace freeflow::apps
