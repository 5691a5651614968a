// Private: the exact squared Euclidean distance to marked voxels of a box, in linear time, by the
// lower envelope of parabolas along each axis (Felzenszwalb and Huttenlocher 2012).
// denoise/signed_distance_body.h has another, which finds the nearest seed rather than its distance
// and is a GPU kernel: the two share the idea, not code.
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include <freeflow/core/views.h>

namespace freeflow {

/// Writes to `squared`, for every voxel of the box (x fastest), the square of the distance between
/// its centre and that of the nearest voxel whose mark is not 0, in the square of the unit of
/// `spacing`; infinity where nothing is marked. The same bits for any number of threads.
void squared_distance(const std::vector<std::uint8_t>& marked, Extent box,
                      const Eigen::Vector3d& spacing, int threads, std::vector<double>& squared);

}  // namespace freeflow
