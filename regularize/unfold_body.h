// Private: the mathematics of unfold.h.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/deform/field_operations_body.h>

namespace freeflow {

/// 1 in so many planes where the determinant is below the bound, else 0.
struct FoldIndicatorBody {
  FieldView<const float> u;
  FieldView<float> indicator;
  int planes;
  float bound;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float folds = jacobian_at(u, x, y, z) < bound ? 1.0f : 0.0f;
    for (int c = 0; c < planes; ++c) indicator.plane(c)(x, y, z) = folds;
  }
};

struct FoldCountBody : SumBody {
  const float* indicator;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return indicator[i]; }
};

/// Coefficients reached by a fold go halfway to the mean of their six neighbours (fewer at the
/// lattice's border).
struct SmoothFlaggedBody {
  FieldView<const float> in;
  VolumeView<const float> flagged;
  FieldView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = in.extent;
    for (int c = 0; c < 3; ++c) {
      const VolumeView<const float> v = in.plane(c);
      const float own = v(x, y, z);
      if (!(flagged(x, y, z) > 0)) {
        out.plane(c)(x, y, z) = own;
        continue;
      }
      float sum = 0, count = 0;
      const auto add = [&](bool exists, int i, int j, int k) {
        if (!exists) return;
        sum += v(i, j, k);
        count += 1.0f;
      };
      add(x > 0, x - 1, y, z);
      add(x + 1 < n.x, x + 1, y, z);
      add(y > 0, x, y - 1, z);
      add(y + 1 < n.y, x, y + 1, z);
      add(z > 0, x, y, z - 1);
      add(z + 1 < n.z, x, y, z + 1);
      out.plane(c)(x, y, z) = 0.5f * (own + sum / count);
    }
  }
};

}  // namespace freeflow
