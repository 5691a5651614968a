// Private: the fixed-point weights of one voxel, shared by every scheme and backend. Resolution: a
// weight is rounded to a multiple of 2^-16, and those of one voxel sum to exactly 65536.
#pragma once

#include <cstdint>

#include <freeflow/deform/bspline_body.h>
#include <freeflow/deform/sampling_body.h>

namespace freeflow {

inline constexpr std::uint32_t weight_unit = 65536;

/// Bins and integer weights of a voxel.
template <int n>
struct Weights {
  static constexpr int terms = n;
  int bin[n];
  std::uint32_t weight[n];
};

FREEFLOW_HD int hard_bin(float b, int moving_bins) {
  // Halves up, by the one conversion that vectorises.
  const int bin = int(b + 0.5f);  // NOLINT(bugprone-incorrect-roundings)
  return bin < 0 ? 0 : bin >= moving_bins ? moving_bins - 1 : bin;
}

FREEFLOW_HD float clip_to_window(float b, int moving_bins) {
  const float top = float(moving_bins - 2);
  return b > 1.0f ? (b < top ? b : top) : 1.0f;
}

/// The cell of a value: bins first .. first + 3 with the value at fraction t after bin first + 1.
FREEFLOW_HD int parzen_cell(float b, int moving_bins, float& t) {
  const float clipped = clip_to_window(b, moving_bins);
  int cell = int(clipped);
  cell = cell > moving_bins - 3 ? moving_bins - 3 : cell;
  t = clipped - float(cell);
  return cell - 1;
}

FREEFLOW_HD std::uint32_t in_units(float weight) {
  return std::uint32_t(std::int32_t(fma_(weight, float(weight_unit), 0.5f)));
}

FREEFLOW_HD Weights<4> parzen_weights(float b, int moving_bins) {
  Weights<4> p;
  float t, w[4];
  const int first = parzen_cell(b, moving_bins, t);
  bspline_weights(t, w);
  for (int k = 0; k < 4; ++k) p.bin[k] = first + k;
  p.weight[0] = in_units(w[0]);
  p.weight[1] = in_units(w[1]);
  p.weight[3] = in_units(w[3]);
  p.weight[2] = weight_unit - p.weight[0] - p.weight[1] - p.weight[3];
  return p;
}

/// The eight voxels around a sample, by their trilinear weights. The cell holds values in bins,
/// none of them NaN.
FREEFLOW_HD Weights<8> partial_volume_weights(const Cell& c, const CellOnAxis& cx,
                                              const CellOnAxis& cy, const CellOnAxis& cz,
                                              int moving_bins) {
  const float value[8] = {c.v000, c.v100, c.v010, c.v110, c.v001, c.v101, c.v011, c.v111};
  Weights<8> p;
  // Each split is of an integer, so the eight parts add up to the whole.
  const std::uint32_t z1 = in_units(cz.fraction), z0 = weight_unit - z1;
  for (int k = 0; k < 8; ++k) p.bin[k] = hard_bin(value[k], moving_bins);
  const std::uint32_t z[2] = {z0, z1};
  for (int k = 0; k < 2; ++k) {
    const std::uint32_t y1 = std::uint32_t(std::int32_t(fma_(cy.fraction, float(z[k]), 0.5f))),
                        y0 = z[k] - y1;
    const std::uint32_t y[2] = {y0, y1};
    for (int j = 0; j < 2; ++j) {
      const std::uint32_t x1 = std::uint32_t(std::int32_t(fma_(cx.fraction, float(y[j]), 0.5f)));
      p.weight[4 * k + 2 * j] = y[j] - x1;
      p.weight[4 * k + 2 * j + 1] = x1;
    }
  }
  return p;
}

/// True when a voxel of the cell is NaN (their sum is, then: bins are finite and small).
FREEFLOW_HD bool has_nan(const Cell& c) {
  const float sum =
      ((c.v000 + c.v100) + (c.v010 + c.v110)) + ((c.v001 + c.v101) + (c.v011 + c.v111));
  return sum != sum;
}

}  // namespace freeflow
