// How far apart the surfaces of a label lie in two volumes on one grid, in millimetres.
//
// The surface of a label is made of voxels: those of the label that have a face neighbour outside
// it, or outside the grid. The distance from a surface voxel to the other surface is the exact
// Euclidean one between voxel centres, with the grid's spacing. So a shift by one voxel measures
// one spacing, and what lies within half a voxel measures 0. Everything is in double on the host,
// and the same for any number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

/// The distances are NaN where either volume lacks the label.
struct SurfaceDistance {
  std::int32_t label = 0;
  std::size_t first_surface_voxels = 0, second_surface_voxels = 0;
  /// The largest distance, of both directions (Hausdorff).
  double hausdorff_mm = std::numeric_limits<double>::quiet_NaN();
  /// The larger of the two directions' 95th percentiles (linear between ranks, as numpy's). MedPy's
  /// hd95 is the percentile of both directions pooled, which is mostly smaller.
  double hausdorff95_mm = std::numeric_limits<double>::quiet_NaN();
  /// The mean over the surface voxels of both, pooled: the mean symmetric surface distance.
  double mean_mm = std::numeric_limits<double>::quiet_NaN();
};

/// One entry for each of `labels`, in their order. Per label the cost is two linear passes over the
/// smallest box that holds it in both volumes, and 10 bytes a voxel of that box. Throws
/// InvalidArgument when the volumes do not share a grid, or a label is named twice.
std::vector<SurfaceDistance> surface_distance(Context& ctx, const Volume<std::int32_t>& first,
                                              const Volume<std::int32_t>& second,
                                              std::span<const std::int32_t> labels);

}  // namespace freeflow
