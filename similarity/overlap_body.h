// Private: the reduction of overlap.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/deform/warp_body.h>

namespace freeflow {

/// Terms: valid fixed voxels; those among them that fall on a valid moving voxel.
struct OverlapBody : SumBody {
  const float* fixed;
  VolumeView<const float> moving;
  DisplacedPoint point;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    if (!is_finite(fixed[i])) return 0.0;
    if (term == 0) return 1.0;
    const Extent n = point.u.extent;
    const float v = sample_linear(
        moving, point(int(i % n.x), int(i / n.x % n.y), int(i / (std::size_t(n.x) * n.y))));
    return is_finite(v) ? 1.0 : 0.0;
  }
};

}  // namespace freeflow
