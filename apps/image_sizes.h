// Two images whose lengths can hardly both be millimetres.
#pragma once

#include <optional>
#include <string>

#include <freeflow/core/geometry.h>

namespace freeflow::apps {

/// The longest side of the grid.
double longest_side_mm(const Geometry& grid);

/// A sentence where one is eight times as long as the other: a head and a part of it differ by
/// less, lengths in centimetres and in millimetres by ten.
std::optional<std::string> said_of_sizes(const std::string& file, const Geometry& grid,
                                         const std::string& other_file, const Geometry& other);

}  // namespace freeflow::apps
