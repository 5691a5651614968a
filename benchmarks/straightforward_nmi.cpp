#include "straightforward_nmi.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace freeflow::bench {

namespace {

constexpr int bins = 64;

struct Sample {
  bool inside;
  float value, gx, gy, gz;
};

Sample sample(const float* image, int nx, int ny, int nz, float x, float y, float z) {
  if (!(x >= 0 && x <= nx - 1 && y >= 0 && y <= ny - 1 && z >= 0 && z <= nz - 1))
    return {false, 0, 0, 0, 0};
  const int i = std::min(int(x), nx - 2), j = std::min(int(y), ny - 2),
            k = std::min(int(z), nz - 2);
  const float a = x - i, b = y - j, c = z - k;
  const float* p = image + (long(k) * ny + j) * nx + i;
  const long row = nx, slice = long(nx) * ny;
  const float c00 = p[0] + a * (p[1] - p[0]), c10 = p[row] + a * (p[row + 1] - p[row]);
  const float c01 = p[slice] + a * (p[slice + 1] - p[slice]),
              c11 = p[slice + row] + a * (p[slice + row + 1] - p[slice + row]);
  const float c0 = c00 + b * (c10 - c00), c1 = c01 + b * (c11 - c01);
  const float gx =
      (1 - c) * ((1 - b) * (p[1] - p[0]) + b * (p[row + 1] - p[row])) +
      c * ((1 - b) * (p[slice + 1] - p[slice]) + b * (p[slice + row + 1] - p[slice + row]));
  const float gy = (1 - c) * (c10 - c00) + c * (c11 - c01);
  return {true, c0 + c * (c1 - c0), gx, gy, c1 - c0};
}

void window(float t, float w[4]) {
  w[0] = (1 - t) * (1 - t) * (1 - t) / 6;
  w[1] = (4 - 6 * t * t + 3 * t * t * t) / 6;
  w[2] = (1 + 3 * t + 3 * t * t - 3 * t * t * t) / 6;
  w[3] = t * t * t / 6;
}

void window_derivative(float t, float w[4]) {
  w[0] = -(1 - t) * (1 - t) / 2;
  w[1] = (-12 * t + 9 * t * t) / 6;
  w[2] = (3 + 6 * t - 9 * t * t) / 6;
  w[3] = t * t / 2;
}

}  // namespace

double straightforward_nmi(const float* fixed, const float* moving, const float* u, int nx, int ny,
                           int nz, float low, float high, float* force) {
  const long n = long(nx) * ny * nz;
  const float to_bin = (bins - 3) / (high - low);
  const auto bin_of = [&](float v) { return 1 + (std::clamp(v, low, high) - low) * to_bin; };
  std::vector<double> joint(bins * bins);
#pragma omp parallel
  {
    std::vector<double> mine(bins * bins);
#pragma omp for
    for (long i = 0; i < n; ++i) {
      const Sample s =
          sample(moving, nx, ny, nz, float(i % nx) + u[i], float(i / nx % ny) + u[i + n],
                 float(i / (long(nx) * ny)) + u[i + 2 * n]);
      if (!s.inside) continue;
      const int f = int(bin_of(fixed[i]) + 0.5f);
      const float b = bin_of(s.value);
      const int cell = std::min(int(b), bins - 3);
      float w[4];
      window(b - cell, w);
      for (int k = 0; k < 4; ++k) mine[f * bins + cell - 1 + k] += w[k];
    }
#pragma omp critical
    for (int i = 0; i < bins * bins; ++i) joint[i] += mine[i];
  }
  double mass = 0, hf = 0, hm = 0, h = 0;
  std::vector<double> pf(bins), pm(bins);
  for (double v : joint) mass += v;
  for (int f = 0; f < bins; ++f)
    for (int m = 0; m < bins; ++m) {
      joint[f * bins + m] /= mass;
      pf[f] += joint[f * bins + m];
      pm[m] += joint[f * bins + m];
    }
  for (double p : pf) hf -= p > 0 ? p * std::log(p) : 0;
  for (double p : pm) hm -= p > 0 ? p * std::log(p) : 0;
  for (double p : joint) h -= p > 0 ? p * std::log(p) : 0;
  const double nmi = (hf + hm) / h;
  std::vector<float> slope(bins * bins);
  for (int f = 0; f < bins; ++f)
    for (int m = 0; m < bins; ++m)
      slope[f * bins + m] = float((nmi * std::log(std::max(joint[f * bins + m], 1e-12)) -
                                   std::log(std::max(pm[m], 1e-12))) /
                                  (h * mass) * to_bin);
#pragma omp parallel for
  for (long i = 0; i < n; ++i) {
    const Sample s = sample(moving, nx, ny, nz, float(i % nx) + u[i], float(i / nx % ny) + u[i + n],
                            float(i / (long(nx) * ny)) + u[i + 2 * n]);
    float d = 0;
    if (s.inside) {
      const int f = int(bin_of(fixed[i]) + 0.5f);
      const float b = bin_of(s.value);
      const int cell = std::min(int(b), bins - 3);
      float w[4];
      window_derivative(b - cell, w);
      for (int k = 0; k < 4; ++k) d += w[k] * slope[f * bins + cell - 1 + k];
    }
    force[i] = d * s.gx;
    force[i + n] = d * s.gy;
    force[i + 2 * n] = d * s.gz;
  }
  return -nmi;
}

}  // namespace freeflow::bench
