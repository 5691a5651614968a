// Private: a transform as a kernel sees it.
#pragma once

#include <freeflow/deform/sampling_body.h>
#include <freeflow/transform/transform.h>

namespace freeflow {

/// From a voxel of the grid to be sampled to a position in the image, through every field, in the
/// voxels of each grid on the way.
struct ChainPoint {
  struct Link {
    FieldView<const float> u;
    PointMap after;  // to the voxels of the next field, or of the image
  };

  PointMap first;
  int links = 0;
  Link link[Transform::most_links];

  FREEFLOW_HD Vec3f operator()(int x, int y, int z) const {
    Vec3f p = map_point(first, float(x), float(y), float(z));
    for (int k = 0; k < links; ++k) {
      const FieldView<const float> u = link[k].u;
      if (has_value(p, u.extent)) {
        const Vec3f d{sample_linear_clamped(u.plane(0), p), sample_linear_clamped(u.plane(1), p),
                      sample_linear_clamped(u.plane(2), p)};
        p.x += d.x, p.y += d.y, p.z += d.z;
      }
      p = map_point(link[k].after, p.x, p.y, p.z);
    }
    return p;
  }
};

/// For sampling an image on `image` at the voxels of `grid`. Throws InvalidArgument for a longer
/// chain than a pass takes, and for fields of another device.
ChainPoint chain_point(const Context& ctx, const Transform& transform, const Geometry& grid,
                       const Geometry& image);

}  // namespace freeflow
