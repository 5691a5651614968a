// Private: the four fixed-point Parzen weights of one voxel, shared by every scheme and backend.
#pragma once

#include <cstdint>

#include <freeflow/deform/bspline_body.h>

namespace freeflow {

/// First bin and integer weights of a warped value in bins; the weights sum to exactly 65536.
struct ParzenWeights {
  int first;
  std::int32_t w[4];
};

/// The cell of a value: bins first .. first + 3 with the value at fraction t after bin first + 1.
FREEFLOW_HD int parzen_cell(float b, int moving_bins, float& t) {
  int cell = int(b);
  cell = cell < 1 ? 1 : cell > moving_bins - 3 ? moving_bins - 3 : cell;
  t = b - float(cell);
  return cell - 1;
}

FREEFLOW_HD ParzenWeights parzen_weights(float b, int moving_bins) {
  ParzenWeights p;
  float t, w[4];
  p.first = parzen_cell(b, moving_bins, t);
  bspline_weights(t, w);
  p.w[0] = std::int32_t(fma_(w[0], 65536.0f, 0.5f));
  p.w[1] = std::int32_t(fma_(w[1], 65536.0f, 0.5f));
  p.w[3] = std::int32_t(fma_(w[3], 65536.0f, 0.5f));
  p.w[2] = 65536 - p.w[0] - p.w[1] - p.w[3];
  return p;
}

FREEFLOW_HD int hard_bin(float b, int moving_bins) {
  const int bin = int(b + 0.5f);
  return bin < 0 ? 0 : bin >= moving_bins ? moving_bins - 1 : bin;
}

}  // namespace freeflow
