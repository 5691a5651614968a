#include <apps/image_sizes.h>

#include <algorithm>

#include <apps/html.h>

namespace freeflow::apps {

namespace {
std::string in_mm(double length) { return fixed_digits(length, length_digits(length / 10, 0)); }
}  // namespace

double longest_side_mm(const Geometry& grid) {
  const Extent& n = grid.extent;
  return std::max({n.x * grid.spacing.x(), n.y * grid.spacing.y(), n.z * grid.spacing.z()});
}

std::optional<std::string> said_of_sizes(const std::string& file, const Geometry& grid,
                                         const std::string& other_file, const Geometry& other) {
  constexpr double most = 8;
  const double length = longest_side_mm(grid), other_length = longest_side_mm(other);
  if (length < most * other_length && other_length < most * length) return std::nullopt;
  return "'" + file + "' is " + in_mm(length) + " mm long and '" + other_file + "' " +
         in_mm(other_length) + ": are the lengths of one header in another unit?";
}

}  // namespace freeflow::apps
