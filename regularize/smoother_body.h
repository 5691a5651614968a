// Private: the mathematics of smoother.h. The planes of a field follow each other, so a field is a
// volume of planes * z slices; only along z a line must know which plane it belongs to.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/core/portable_math.h>
#include <freeflow/regularize/smoother.h>

namespace freeflow {

/// The lines along one axis of planes that follow each other.
struct LinesAlong {
  Extent extent;  // of one plane
  int axis;

  /// Lines come in bundles of neighbours: along x neighbours in y, along y and z neighbours in x.
  FREEFLOW_HD int across() const { return axis == 0 ? extent.y : extent.x; }
  FREEFLOW_HD std::size_t across_stride() const { return axis == 0 ? extent.x : 1; }
  FREEFLOW_HD int groups(int planes) const { return planes * (axis == 2 ? extent.y : extent.z); }
  /// Where line `line` of a group starts.
  FREEFLOW_HD std::size_t start_of(int group, int line) const {
    if (axis == 2) return start(line, group % extent.y, group / extent.y * extent.z);
    return axis == 0 ? start(0, line, group) : start(line, 0, group);
  }

  FREEFLOW_HD std::size_t stride() const {
    return axis == 0 ? 1 : axis == 1 ? std::size_t(extent.x) : std::size_t(extent.x) * extent.y;
  }
  /// Where the line through (x, y, z) starts, z counted through all planes.
  FREEFLOW_HD std::size_t start(int x, int y, int z) const {
    const std::size_t slice = std::size_t(extent.x) * extent.y;
    if (axis == 0) return z * slice + std::size_t(y) * extent.x;
    if (axis == 1) return z * slice + x;
    return std::size_t(z / extent.z) * extent.z * slice + std::size_t(y) * extent.x + x;
  }
  /// The position on that line.
  FREEFLOW_HD int position(int x, int y, int z) const {
    return axis == 0 ? x : axis == 1 ? y : z % extent.z;
  }
};

/// A window of 2 radius + 1 weights along an axis: the sum of weights[k] times the line's value at
/// i + k - radius, k ascending.
struct SeparableLines {
  LinesAlong lines;
  const float* in;
  float* out;
  const float* weights;
  int radius;
};

/// One line through two sections of second order in parallel, each h(n) = (a cos(w n) + b sin(w n))
/// r^n for n >= 0: s(n) = n0 x(n) + n1 x(n - 1) + d1 s(n - 1) + d2 s(n - 2); backwards, from n = 1
/// on, m1 x(n + 1) + m2 x(n + 2) + the same. x counts from the line's first value. A step waits for
/// one multiplication of the step before.
struct RecursiveState {
  float x1, x2, a1, a2, b1, b2;

  static FREEFLOW_HD RecursiveState steady(float x, float gain_a, float gain_b) {
    return {x, x, gain_a * x, gain_a * x, gain_b * x, gain_b * x};
  }
  FREEFLOW_HD float forward(const RecursiveSection& a, const RecursiveSection& b, float x) {
    const float a0 = fma_(a.d1, a1, fma_(a.d2, a2, fma_(a.n0, x, a.n1 * x1)));
    const float b0 = fma_(b.d1, b1, fma_(b.d2, b2, fma_(b.n0, x, b.n1 * x1)));
    x1 = x, a2 = a1, a1 = a0, b2 = b1, b1 = b0;
    return a0 + b0;
  }
  /// The share of the values after x, which comes next.
  FREEFLOW_HD float backward(const RecursiveSection& a, const RecursiveSection& b, float x) {
    const float a0 = fma_(a.d1, a1, fma_(a.d2, a2, fma_(a.m1, x1, a.m2 * x2)));
    const float b0 = fma_(b.d1, b1, fma_(b.d2, b2, fma_(b.m1, x1, b.m2 * x2)));
    x2 = x1, x1 = x, a2 = a1, a1 = a0, b2 = b1, b1 = b0;
    return a0 + b0;
  }
};

/// `in` and `out` are the line's first voxels.
FREEFLOW_HD void recursive_line(const RecursiveSection& a, const RecursiveSection& b,
                                const float* in, float* out, int n, std::size_t stride) {
  const float base = in[0];
  RecursiveState s = RecursiveState::steady(0.0f, 0.0f, 0.0f);
  for (int i = 0; i < n; ++i) out[i * stride] = base + s.forward(a, b, in[i * stride] - base);
  s = RecursiveState::steady(in[(n - 1) * stride] - base, a.steady_backward, b.steady_backward);
  for (int i = n - 1; i >= 0; --i) out[i * stride] += s.backward(a, b, in[i * stride] - base);
}

struct RecursiveLines {
  LinesAlong lines;
  const float* in;
  float* out;
  RecursiveSection a, b;
};

// All lines of so many planes, on a GPU.
void smooth_lines(backend::Cuda, const SeparableLines& lines, int planes);
void smooth_lines(backend::Cuda, const RecursiveLines& lines, int planes);

}  // namespace freeflow
