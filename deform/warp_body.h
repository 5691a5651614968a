// Private: the mathematics of warp.h.
#pragma once

#include <freeflow/deform/bspline_body.h>
#include <freeflow/deform/sampling_body.h>

namespace freeflow {

struct DisplacedPoint {
  PointMap map;
  FieldView<const float> u;  // null data: no displacement
  int first = 0;             // the grid's slice at which that of u begins

  FREEFLOW_HD Vec3f operator()(int x, int y, int z) const {
    const std::size_t n = u.extent.count(), i = u.extent.offset(x, y, z);
    const float slice = float(first + z);
    if (!u.data) return map_point(map, float(x), float(y), slice);
    return map_point(map, float(x) + u.data[i], float(y) + u.data[i + n],
                     slice + u.data[i + 2 * n]);
  }
};

/// The point of a voxel that first goes through an affine and only then through a field on a grid
/// of its own.
struct PointThroughField {
  PointMap to_field, field_to_image;  // voxel indices to voxel indices
  FieldView<const float> v;

  FREEFLOW_HD Vec3f operator()(int x, int y, int z) const {
    const Vec3f p = map_point(to_field, float(x), float(y), float(z));
    return map_point(field_to_image, p.x + sample_linear_clamped(v.plane(0), p),
                     p.y + sample_linear_clamped(v.plane(1), p),
                     p.z + sample_linear_clamped(v.plane(2), p));
  }
};

template <class Point>
struct WarpNearestBody {
  Point point;
  VolumeView<const float> moving;
  VolumeView<float> out;
  float fill;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = sample_nearest(moving, point(x, y, z));
    out(x, y, z) = is_finite(v) ? v : fill;
  }
};

template <class Point>
struct WarpLinearBody {
  Point point;
  VolumeView<const float> moving;
  VolumeView<float> out;
  float fill;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f p = point(x, y, z);
    float v = sample_linear(moving, p);
    if (!is_finite(v)) v = sample_linear_beside_holes(moving, p);
    out(x, y, z) = v == v ? v : fill;
  }
};

FREEFLOW_HD int mirror_index(int i, int n) {
  if (n == 1) return 0;
  if (i < 0) i = -i;
  return i >= n ? 2 * n - 2 - i : i;
}

/// Cubic B-spline interpolation from coefficients, mirrored at the border; NaN where the nearest
/// voxel of `original` has no value (NaN or infinite).
FREEFLOW_HD float sample_cubic(VolumeView<const float> coefficients,
                               VolumeView<const float> original, const Vec3f& p) {
  if (!is_finite(sample_nearest(original, p))) return NAN;
  const Extent n = coefficients.extent;
  const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
  float wx[4], wy[4], wz[4];
  bspline_weights(cx.fraction, wx);
  bspline_weights(cy.fraction, wy);
  bspline_weights(cz.fraction, wz);
  int ix[4];
  for (int a = 0; a < 4; ++a) ix[a] = mirror_index(cx.low - 1 + a, n.x);
  float sum = 0;
  for (int c = 0; c < 4; ++c)
    for (int b = 0; b < 4; ++b) {
      const float* line =
          coefficients.data + coefficients.offset(0, mirror_index(cy.low - 1 + b, n.y),
                                                  mirror_index(cz.low - 1 + c, n.z));
      float row = 0;
      for (int a = 0; a < 4; ++a) row = fma_(wx[a], line[ix[a]], row);
      sum = fma_(wz[c] * wy[b], row, sum);
    }
  return sum;
}

/// The value of sample_cubic, to the bit, and the spline's derivative per voxel. Where a position
/// is clamped it is 0 but for rounding, for a mirrored spline is level at the border.
FREEFLOW_HD SampleWithGradient sample_cubic_with_gradient(VolumeView<const float> coefficients,
                                                          VolumeView<const float> original,
                                                          const Vec3f& p) {
  if (!is_finite(sample_nearest(original, p))) return {NAN, {0, 0, 0}};
  const Extent n = coefficients.extent;
  const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
  float wx[4], wy[4], wz[4], dx[4], dy[4], dz[4];
  bspline_weights(cx.fraction, wx);
  bspline_weights(cy.fraction, wy);
  bspline_weights(cz.fraction, wz);
  bspline_weight_derivatives(cx.fraction, dx);
  bspline_weight_derivatives(cy.fraction, dy);
  bspline_weight_derivatives(cz.fraction, dz);
  int ix[4];
  for (int a = 0; a < 4; ++a) ix[a] = mirror_index(cx.low - 1 + a, n.x);
  SampleWithGradient s{0, {0, 0, 0}};
  for (int c = 0; c < 4; ++c)
    for (int b = 0; b < 4; ++b) {
      const float* line =
          coefficients.data + coefficients.offset(0, mirror_index(cy.low - 1 + b, n.y),
                                                  mirror_index(cz.low - 1 + c, n.z));
      float row = 0, slope = 0;
      for (int a = 0; a < 4; ++a) {
        row = fma_(wx[a], line[ix[a]], row);
        slope = fma_(dx[a], line[ix[a]], slope);
      }
      s.value = fma_(wz[c] * wy[b], row, s.value);
      s.gradient.x = fma_(wz[c] * wy[b], slope, s.gradient.x);
      s.gradient.y = fma_(wz[c] * dy[b], row, s.gradient.y);
      s.gradient.z = fma_(dz[c] * wy[b], row, s.gradient.z);
    }
  return s;
}

/// `fill` where the sample has no value.
template <class Point>
struct WarpCubicBody {
  Point point;
  VolumeView<const float> coefficients, original;
  VolumeView<float> out;
  float fill;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = sample_cubic(coefficients, original, point(x, y, z));
    out(x, y, z) = v == v ? v : fill;
  }
};

/// One line of the prefilter: causal and anticausal recursion with the pole sqrt(3) - 2. Called
/// once per line: the coordinate along `axis` is 0.
struct PrefilterLineBody {
  VolumeView<float> image;
  int axis;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const int n = image.extent[axis];
    const std::size_t stride = axis == 0   ? 1
                               : axis == 1 ? image.extent.x
                                           : std::size_t(image.extent.x) * image.extent.y;
    float* c = image.data + image.offset(x, y, z);
    if (n == 1) return;
    const float pole = -0.26794919243112270f, gain = 6.0f;
    // The mirror sum of the causal start, cut where the pole's power falls below float's
    // resolution; it goes to and fro on short lines.
    float start = c[0], power = pole;
    for (int k = 1; k < 16; ++k, power *= pole)
      start = fma_(power, c[mirror_index(k % (2 * n - 2), n) * stride], start);
    float previous = start;
    c[0] = previous;
    for (int k = 1; k < n; ++k) c[k * stride] = previous = fma_(pole, previous, c[k * stride]);
    previous = pole / (pole * pole - 1.0f) * fma_(pole, c[(n - 2) * stride], c[(n - 1) * stride]);
    c[(n - 1) * stride] = previous * gain;
    for (int k = n - 2; k >= 0; --k) {
      previous = pole * (previous - c[k * stride]);
      c[k * stride] = previous * gain;
    }
  }
};

/// One line of an image whose voxels without a value take that of the next voxel on the line that
/// has one, of two as near the lower one's: along x, then y, then z it is an image without holes,
/// if one voxel has a value. Called once per line, as PrefilterLineBody is.
struct FillHolesLineBody {
  VolumeView<float> image;
  int axis;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const int n = image.extent[axis];
    const std::size_t stride = axis == 0   ? 1
                               : axis == 1 ? image.extent.x
                                           : std::size_t(image.extent.x) * image.extent.y;
    float* c = image.data + image.offset(x, y, z);
    int last = -1;  // the last voxel with a value
    for (int k = 0; k < n; ++k) {
      const float v = c[k * stride];
      if (!is_finite(v)) continue;
      for (int hole = last + 1; hole < k; ++hole)
        c[hole * stride] = last >= 0 && 2 * hole <= last + k ? c[last * stride] : v;
      last = k;
    }
    if (last < 0) return;
    for (int hole = last + 1; hole < n; ++hole) c[hole * stride] = c[last * stride];
  }
};

struct WarpValuesBody {
  static constexpr int blocks_at_once = 8;
  DisplacedPoint point;
  VolumeView<const float> moving;
  VolumeView<float> warped;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    warped(x, y, z) = sample_linear(moving, point(x, y, z));
  }
};

struct WarpWithGradientBody {
  DisplacedPoint point;
  VolumeView<const float> moving;
  VolumeView<float> warped;
  FieldView<float> gradient;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    write(warped.offset(x, y, z), sample_linear_with_gradient(moving, point(x, y, z)));
  }
  FREEFLOW_HD void write(std::size_t i, const SampleWithGradient& s) const {
    const auto& m = point.map.m;
    const std::size_t n = warped.extent.count();
    warped.data[i] = s.value;
    gradient.data[i] =
        fma_(m[0][0], s.gradient.x, fma_(m[1][0], s.gradient.y, m[2][0] * s.gradient.z));
    gradient.data[i + n] =
        fma_(m[0][1], s.gradient.x, fma_(m[1][1], s.gradient.y, m[2][1] * s.gradient.z));
    gradient.data[i + 2 * n] =
        fma_(m[0][2], s.gradient.x, fma_(m[1][2], s.gradient.y, m[2][2] * s.gradient.z));
  }
};

}  // namespace freeflow
