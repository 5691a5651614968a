// Private: the mathematics of control_point_grid.h. A volume of three planes is walked as one
// stack: "line stack" means (inner, axis, outer), where inner is the product of the sizes before
// the axis and outer of those behind it.
#pragma once

#include <freeflow/core/views.h>
#include <freeflow/deform/bspline_body.h>

namespace freeflow {

/// The four taps of every voxel along one axis: coefficients first[i] .. first[i] + 3 with
/// weights[4 i ..]. begin[j] .. begin[j + 4] - 1 are the voxels that coefficient j reaches (begin
/// has one entry per knot interval + 7).
struct AxisTaps {
  const int* first;
  const int* begin;
  const float* weights;
};

/// One axis of evaluate: out(inner, i, outer) = scale[component] * sum_k w_k(i) in(inner, first(i)
/// + k, outer).
struct InterpolateAxisBody {
  const float* in;
  float* out;
  AxisTaps taps;
  int in_size, out_size;  // along the axis
  int inner, outer_per_component;
  Vec3f scale;

  FREEFLOW_HD void operator()(int x, int i, int outer) const {
    const float* w = taps.weights + 4 * i;
    const float* c = in + (std::size_t(outer) * in_size + taps.first[i]) * inner + x;
    const int component = outer / outer_per_component;
    const float s = component == 0 ? scale.x : component == 1 ? scale.y : scale.z;
    const float sum =
        fma_(w[3], c[3 * std::size_t(inner)],
             fma_(w[2], c[2 * std::size_t(inner)], fma_(w[1], c[inner], w[0] * c[0])));
    out[(std::size_t(outer) * out_size + i) * inner + x] = s * sum;
  }
};

/// The same for the x axis, where inner is 1 and the voxel runs along x.
struct InterpolateAlongXBody {
  static constexpr unsigned stacked_planes = 3;
  InterpolateAxisBody axis;
  FREEFLOW_HD void operator()(int i, int, int outer) const { axis(0, i, outer); }
};

/// One axis of the adjoint: out(inner, j, outer) = scale[component] * sum over the voxels i that j
/// reaches, in ascending order.
struct GatherAxisBody {
  const float* in;
  float* out;
  AxisTaps taps;
  int in_size, out_size;
  int inner, outer_per_component;
  Vec3f scale;

  FREEFLOW_HD void operator()(int x, int j, int outer) const {
    const int begin = taps.begin[j], end = taps.begin[j + 4];
    const float* v = in + (std::size_t(outer) * in_size + begin) * inner + x;
    float sum = 0;
    for (int i = begin; i < end; ++i, v += inner)
      sum = fma_(taps.weights[4 * i + j - taps.first[i]], *v, sum);
    const int component = outer / outer_per_component;
    const float s = component == 0 ? scale.x : component == 1 ? scale.y : scale.z;
    out[(std::size_t(outer) * out_size + j) * inner + x] = s * sum;
  }
};

/// GatherAxisBody along z for the voxels of some slices alone: `in` is a slab that begins at slice
/// first_voxel, and what they give is added to `out`, from coefficient first_output on. Slabs in
/// ascending order give the sums of the whole, to the bit.
struct GatherSlicesBody {
  const float* in;
  float* out;
  AxisTaps taps;
  int first_voxel, slices, first_output, out_size, inner;

  FREEFLOW_HD void operator()(int x, int component, int k) const {
    const int j = first_output + k, end_of_slab = first_voxel + slices;
    const int begin = taps.begin[j] > first_voxel ? taps.begin[j] : first_voxel,
              end = taps.begin[j + 4] < end_of_slab ? taps.begin[j + 4] : end_of_slab;
    const float* v = in + (std::size_t(component) * slices + (begin - first_voxel)) * inner + x;
    float& sum = out[(std::size_t(component) * out_size + j) * inner + x];
    float s = sum;
    for (int i = begin; i < end; ++i, v += inner)
      s = fma_(taps.weights[4 * i + j - taps.first[i]], *v, s);
    sum = s;
  }
};

struct GatherAlongXBody {
  static constexpr unsigned stacked_planes = 3;
  GatherAxisBody axis;
  FREEFLOW_HD void operator()(int j, int, int outer) const { axis(0, j, outer); }
};

/// Subdivision along one axis (Lane and Riesenfeld): odd new coefficients sit on old ones, even
/// ones between them.
struct RefineAxisBody {
  const float* in;
  float* out;
  int in_size, out_size, inner;

  FREEFLOW_HD void operator()(int x, int j, int outer) const {
    const float* c = in + (std::size_t(outer) * in_size + j / 2) * inner + x;
    const std::size_t next = inner;
    const float value =
        j % 2 ? 0.125f * (c[0] + c[2 * next]) + 0.75f * c[next] : 0.5f * (c[0] + c[next]);
    out[(std::size_t(outer) * out_size + j) * inner + x] = value;
  }
};

/// Jacobian determinant of x + u(x) from the spline's analytic derivatives.
struct SplineJacobianBody {
  FieldView<const float> coefficients;
  Vec3f offset, step;  // lattice position (in knots) of voxel 0, and per voxel
  Vec3f knots_per_mm;
  VolumeView<float> out;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = coefficients.extent;
    const float at[3] = {fma_(step.x, float(x), offset.x), fma_(step.y, float(y), offset.y),
                         fma_(step.z, float(z), offset.z)};
    float w[3][4], d[3][4];
    int low[3];
    for (int a = 0; a < 3; ++a) {
      const int last = n[a] - 4;
      low[a] = int(at[a] > 0 ? at[a] : 0);
      low[a] = low[a] < last ? low[a] : last;
      bspline_weights(at[a] - float(low[a]), w[a]);
      bspline_weight_derivatives(at[a] - float(low[a]), d[a]);
    }
    float g[3][3] = {};
    for (int c = 0; c < 4; ++c)
      for (int b = 0; b < 4; ++b)
        for (int a = 0; a < 4; ++a) {
          const std::size_t i = (std::size_t(low[2] + c) * n.y + low[1] + b) * n.x + low[0] + a;
          const float wx = d[0][a] * w[1][b] * w[2][c], wy = w[0][a] * d[1][b] * w[2][c],
                      wz = w[0][a] * w[1][b] * d[2][c];
          for (int k = 0; k < 3; ++k) {
            const float v = coefficients.data[k * n.count() + i];
            g[k][0] = fma_(wx, v, g[k][0]);
            g[k][1] = fma_(wy, v, g[k][1]);
            g[k][2] = fma_(wz, v, g[k][2]);
          }
        }
    for (int k = 0; k < 3; ++k) {
      g[k][0] *= knots_per_mm.x;
      g[k][1] *= knots_per_mm.y;
      g[k][2] *= knots_per_mm.z;
      g[k][k] += 1.0f;
    }
    out(x, y, z) = g[0][0] * (g[1][1] * g[2][2] - g[1][2] * g[2][1]) -
                   g[0][1] * (g[1][0] * g[2][2] - g[1][2] * g[2][0]) +
                   g[0][2] * (g[1][0] * g[2][1] - g[1][1] * g[2][0]);
  }
};

}  // namespace freeflow
