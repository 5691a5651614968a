// The signed Euclidean distance to a surface, in millimetres, negative inside, on any grid: linear
// time, the same bits on every backend.
//
// Voxels beside the surface ("seeds") know it to a fraction of a voxel: where it cuts the edges to
// their neighbours (linear interpolation), and so a small disc in the plane through these cuts. An
// exact Euclidean transform (lower envelopes of parabolas along x, y, z: Felzenszwalb and
// Huttenlocher 2012) finds every voxel's nearest seed; the distance is then the least to the discs
// of the seeds around that one. Exact for planes; on a ball within 0.04 voxel near the surface,
// within
// 0.16 where the voxels' sides are 1, 1 and 2.5.
//
// Beyond the grid nothing is known: a surface that touches the border is open there.
#pragma once

#include <freeflow/core/volume.h>

namespace freeflow {

enum class Inside { above, below };

/// The piece of surface beside a voxel: `distance` along `normal` (a unit vector, in the grid's
/// axes) from the voxel's centre, in the unit of the spacing. A voxel away from the surface has an
/// infinite distance.
struct SurfaceSeed {
  float normal[3];
  float distance;
};

/// Distance to where `image` crosses `iso`; inside is where it lies above (strictly) or below (not
/// strictly above). Voxels that are NaN lie outside. Throws RegistrationError when there is no
/// crossing, InvalidArgument when the geometry is unusable.
Volume<float> signed_distance(Context& ctx, const Volume<float>& image, double iso, Inside inside);

/// Distance to given pieces of surface; `inside` is 1 inside and 0 outside, both in voxel order.
Volume<float> signed_distance(Context& ctx, const Geometry& geometry,
                              const std::vector<SurfaceSeed>& seeds,
                              const std::vector<float>& inside);

}  // namespace freeflow
