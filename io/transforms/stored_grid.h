// Private to io: the grid that the fixed parameters of ITK's fields and splines describe: sizes,
// origin, spacing and direction, row by row.
#pragma once

#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/stored_transform.h>

namespace freeflow {

/// Of a transform whose numbers have passed check_transform_numbers. Throws IoError.
Geometry grid_of(const std::string& path, const StoredTransform& stored,
                 std::vector<std::string>& warnings);
std::vector<double> numbers_of(const Geometry& grid);

}  // namespace freeflow
