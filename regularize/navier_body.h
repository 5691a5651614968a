// Private: the mathematics of navier.h in Fourier space.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// Solves (a I + b s s^T) v = f for one frequency by Sherman and Morrison's formula, a = mu sum (2
/// - 2 cos w) / h^2, b = mu + lambda, s = sin(w) / h; f comes multiplied by h per component, and so
/// does v leave.
struct NavierSpectrumBody {
  const float *sine[3], *second[3];
  float spacing[3];
  float mu, sum_mu_lambda, scale;
  Extent size;
  float* values;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t at = 2 * ((std::size_t(z) * size.y + y) * (size.x / 2 + 1) + x);
    const std::size_t volume = 2 * (std::size_t(size.z) * size.y * (size.x / 2 + 1));
    const float s[3] = {sine[0][x], sine[1][y], sine[2][z]};
    const float a = mu * (second[0][x] + second[1][y] + second[2][z]),
                s2 = fma_(s[0], s[0], fma_(s[1], s[1], s[2] * s[2]));
    const float inverse = a > 0 ? scale / a : 0.0f,
                bend = a > 0 ? sum_mu_lambda / fma_(sum_mu_lambda, s2, a) : 0.0f;
    for (int part = 0; part < 2; ++part) {
      float f[3], dot = 0;
      for (int c = 0; c < 3; ++c) {
        f[c] = values[c * volume + at + part] / spacing[c];
        dot = fma_(s[c], f[c], dot);
      }
      for (int c = 0; c < 3; ++c)
        values[c * volume + at + part] = spacing[c] * inverse * fma_(-(bend * dot), s[c], f[c]);
    }
  }
};

}  // namespace freeflow
