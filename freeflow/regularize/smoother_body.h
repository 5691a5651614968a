// Private: the mathematics of smoother.h. The planes of a field follow each other, so a field is a volume of planes * z slices;
// only along z a line must know which plane it belongs to.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/regularize/smoother.h>

namespace freeflow {

/// The lines along one axis of planes that follow each other.
struct LinesAlong {
  Extent extent;  // of one plane
  int axis;

  FREEFLOW_HD std::size_t stride() const { return axis == 0 ? 1 : axis == 1 ? std::size_t(extent.x) : std::size_t(extent.x) * extent.y; }
  /// Where the line through (x, y, z) starts, z counted through all planes.
  FREEFLOW_HD std::size_t start(int x, int y, int z) const {
    const std::size_t slice = std::size_t(extent.x) * extent.y;
    if (axis == 0) return z * slice + std::size_t(y) * extent.x;
    if (axis == 1) return z * slice + x;
    return std::size_t(z / extent.z) * extent.z * slice + std::size_t(y) * extent.x + x;
  }
  /// The position on that line.
  FREEFLOW_HD int position(int x, int y, int z) const { return axis == 0 ? x : axis == 1 ? y : z % extent.z; }
};

struct SeparableAxisBody {
  LinesAlong lines;
  const float* in;
  float* out;
  const float* weights;
  int radius;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const int n = lines.extent[lines.axis], i = lines.position(x, y, z);
    const std::size_t stride = lines.stride();
    const float* line = in + lines.start(x, y, z);
    float sum = 0;
    for (int k = -radius; k <= radius; ++k) {
      const int j = i + k < 0 ? 0 : i + k >= n ? n - 1 : i + k;
      sum = fma_(weights[k + radius], line[j * stride], sum);
    }
    out[(std::size_t(z) * lines.extent.y + y) * lines.extent.x + x] = sum;
  }
};

/// One line through two sections of second order in parallel, each h(n) = (a cos(w n) + b sin(w n)) r^n for n >= 0:
/// s(n) = n0 x(n) + n1 x(n - 1) + d1 s(n - 1) - d2 s(n - 2); backwards, from n = 1 on, m1 x(n + 1) + m2 x(n + 2) + the same.
/// `in` and `out` are its first voxels.
FREEFLOW_HD void recursive_line(const RecursiveSection& a, const RecursiveSection& b, const float* in, float* out, int n,
                                std::size_t stride) {
  double x1 = in[0], a1 = a.steady_forward() * x1, a2 = a1, b1 = b.steady_forward() * x1, b2 = b1;
  for (int i = 0; i < n; ++i) {
    const double x = in[i * stride];
    const double a0 = fma_(a.n0, x, fma_(a.n1, x1, fma_(a.d1, a1, -(a.d2 * a2))));
    const double b0 = fma_(b.n0, x, fma_(b.n1, x1, fma_(b.d1, b1, -(b.d2 * b2))));
    out[i * stride] = float(a0 + b0);
    x1 = x, a2 = a1, a1 = a0, b2 = b1, b1 = b0;
  }
  x1 = in[(n - 1) * stride];
  double x2 = x1;
  a1 = a.steady_backward() * x1, a2 = a1, b1 = b.steady_backward() * x1, b2 = b1;
  for (int i = n - 1; i >= 0; --i) {
    const double a0 = fma_(a.m1, x1, fma_(a.m2, x2, fma_(a.d1, a1, -(a.d2 * a2))));
    const double b0 = fma_(b.m1, x1, fma_(b.m2, x2, fma_(b.d1, b1, -(b.d2 * b2))));
    out[i * stride] = float(double(out[i * stride]) + (a0 + b0));
    x2 = x1, x1 = in[i * stride], a2 = a1, a1 = a0, b2 = b1, b1 = b0;
  }
}

/// Called once per line: the coordinate along the axis is 0; along z the body's z counts planes.
struct RecursiveLineBody {
  LinesAlong lines;
  const float* in;
  float* out;
  RecursiveSection a, b;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t start = lines.start(x, y, lines.axis == 2 ? z * lines.extent.z : z);
    recursive_line(a, b, in + start, out + start, lines.extent[lines.axis], lines.stride());
  }
};

}  // namespace freeflow
