// Whether the vectors of a field are displacements or positions, by their numbers.
#pragma once

#include <vector>

#include <Eigen/Geometry>

#include <freeflow/core/views.h>

namespace freeflow {

/// How much vectors vary, and how much once coordinates are taken off them (standard deviations
/// over a sample of the voxels, relative to that of the coordinates): positions have a small
/// `less_grid`, displacements a small `alone`.
struct Spread {
  double alone = 0, less_grid = 0;
  bool looks_like_positions() const { return 2 * less_grid < alone; }
  bool looks_like_displacements() const { return 2 * alone < less_grid; }
};
/// `coordinates`: what positions would be measured in, as a map of the voxel index.
Spread spread_of(const Extent& extent, const std::vector<float>& planes,
                 const Eigen::Affine3d& coordinates);

}  // namespace freeflow
