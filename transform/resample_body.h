// Private: the mathematics of resample.h for labels; images take the bodies of deform/warp_body.h.
#pragma once

#include <cstdint>

#include <freeflow/deform/warp_body.h>
#include <freeflow/transform/chain_body.h>

namespace freeflow {

/// Positions computed before, one plane per component.
struct StoredPoint {
  FieldView<const float> position;
  FREEFLOW_HD Vec3f operator()(int x, int y, int z) const {
    return {position.plane(0)(x, y, z), position.plane(1)(x, y, z), position.plane(2)(x, y, z)};
  }
};

struct StorePointBody {
  ChainPoint point;
  FieldView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f p = point(x, y, z);
    out.plane(0)(x, y, z) = p.x;
    out.plane(1)(x, y, z) = p.y;
    out.plane(2)(x, y, z) = p.z;
  }
};

template <class Point>
struct LabelNearestBody {
  Point point;
  VolumeView<const std::int32_t> labels;
  VolumeView<std::int32_t> out;
  std::int32_t outside;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f p = point(x, y, z);
    const Extent n = labels.extent;
    out(x, y, z) = has_value(p, n) ? labels(clamp_index(int(floorf(p.x + 0.5f)), n.x),
                                            clamp_index(int(floorf(p.y + 0.5f)), n.y),
                                            clamp_index(int(floorf(p.z + 0.5f)), n.z))
                                   : outside;
  }
};

template <class Point>
struct LabelVoteBody {
  Point point;
  VolumeView<const std::int32_t> labels;
  VolumeView<std::int32_t> out;
  std::int32_t outside;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f p = point(x, y, z);
    const Extent n = labels.extent;
    if (!has_value(p, n)) {
      out(x, y, z) = outside;
      return;
    }
    const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
    std::int32_t label[8];
    float weight[8];
    for (int corner = 0; corner < 8; ++corner) {
      const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
      label[corner] = labels(cx.low + i * cx.step, cy.low + j * cy.step, cz.low + k * cz.step);
      weight[corner] = (i ? cx.fraction : 1.0f - cx.fraction) *
                       (j ? cy.fraction : 1.0f - cy.fraction) *
                       (k ? cz.fraction : 1.0f - cz.fraction);
    }
    std::int32_t best = label[0];
    float most = -1;
    for (const std::int32_t candidate : label) {
      float votes = 0;
      for (int b = 0; b < 8; ++b) votes += label[b] == candidate ? weight[b] : 0.0f;
      if (votes > most || (votes == most && candidate < best)) most = votes, best = candidate;
    }
    out(x, y, z) = best;
  }
};

}  // namespace freeflow
