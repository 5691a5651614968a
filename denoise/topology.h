// The topology of the inside of a surface, on the host: denoising may join parts, close holes and
// drop specks, and says so. Voxels are closed cubes: those that share a corner belong together, and
// the outside hangs together by faces.
#pragma once

#include <cstdint>
#include <vector>

#include <freeflow/core/views.h>

namespace freeflow {

struct Topology {
  std::int64_t voxels = 0;      ///< inside
  std::int64_t components = 0;  ///< of the inside
  std::int64_t cavities = 0;    ///< parts of the outside that do not reach the border of the grid
  std::int64_t euler = 0;       ///< components - handles + cavities
  bool touches_border = false;

  std::int64_t handles() const { return components + cavities - euler; }
};

/// inside: not zero for voxels inside, x fastest.
Topology topology_of(const std::vector<std::uint8_t>& inside, Extent extent);

}  // namespace freeflow
