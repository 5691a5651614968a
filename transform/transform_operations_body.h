// Private: the mathematics of transform_operations.h.
#pragma once

#include <freeflow/transform/chain_body.h>

namespace freeflow {

/// The chain ends in the voxels of the grid it starts from.
struct ComposeChainBody {
  ChainPoint point;
  FieldView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f p = point(x, y, z);
    out.plane(0)(x, y, z) = p.x - float(x);
    out.plane(1)(x, y, z) = p.y - float(y);
    out.plane(2)(x, y, z) = p.z - float(z);
  }
};

/// In place.
struct LogarithmBody {
  VolumeView<float> value;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = value(x, y, z);
    value(x, y, z) = v > 0 ? float(log_positive(double(v))) : NAN;
  }
};

}  // namespace freeflow
