// The affine map that a displacement field holds: fields between images whose axes differ, or
// composed of an affine and a deformation, turn and scale space as a whole.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <Eigen/Geometry>

#include <freeflow/core/geometry.h>

namespace freeflow {

/// The affine map of the voxel index that comes nearest to a field's vectors, in voxels, by least
/// squares over all voxels; the mean of the vectors along axes of one voxel. `planes`: x fastest,
/// component slowest. On so many threads, 0 for all, on which no bit depends.
Eigen::Affine3d affine_fit(Extent extent, std::span<const float> planes, int threads = 0);

/// Whether what was fitted moves the grid by more than a deformation does: its vectors exceed 0.3
/// of the voxels' distances from the grid's middle (root mean squares, in mm), as turns above 20
/// degrees and shifts above a seventh of the side of a cube do. None that has no inverse.
bool holds_affine(const Geometry& grid, const Eigen::Affine3d& fit);

/// x + u(x) = affine(x + v(x)).
struct AffineSplit {
  std::vector<float> planes;  ///< v, in voxels of the field's grid
  Eigen::Affine3d affine;     ///< world, mm
};

/// A field with the affine that it holds behind it; none where it holds none. Up to the grid's
/// outermost centres the map is the same but for rounding, since linear interpolation and affines
/// commute. Beyond, the affine goes on, where u was constant and then zero.
std::optional<AffineSplit> split_affine(const Geometry& grid, std::span<const float> planes,
                                        int threads = 0);

}  // namespace freeflow
