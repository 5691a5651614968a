// Private: surfaces number voxels in 32 bits with a sign.
#pragma once

#include <cstdint>
#include <string>

#include <freeflow/core/error.h>
#include <freeflow/core/geometry.h>

namespace freeflow {

/// Throws InvalidArgument for a grid that is none, or has too many voxels.
inline void check_numbered(const Geometry& grid, const std::string& what) {
  grid.validate(what.c_str());
  require(grid.extent.count() <= std::size_t(INT32_MAX),
          what +
              " has more voxels than 2147483647, which is as far as surfaces number them; crop "
              "or downsample it");
}

}  // namespace freeflow
