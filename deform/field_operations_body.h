// Private: the mathematics of field_operations.h.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/deform/sampling_body.h>

namespace freeflow {

/// out(x) = a * u(x) + b * v(x + u(x)).
struct ComposeBody {
  FieldView<const float> u, v;
  FieldView<float> out;
  float a, b;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f d{u.plane(0)(x, y, z), u.plane(1)(x, y, z), u.plane(2)(x, y, z)};
    const Vec3f p{float(x) + d.x, float(y) + d.y, float(z) + d.z};
    out.plane(0)(x, y, z) = fma_(a, d.x, b * sample_linear_clamped(v.plane(0), p));
    out.plane(1)(x, y, z) = fma_(a, d.y, b * sample_linear_clamped(v.plane(1), p));
    out.plane(2)(x, y, z) = fma_(a, d.z, b * sample_linear_clamped(v.plane(2), p));
  }
};

struct ScaleFieldBody {
  FieldView<const float> in;
  FieldView<float> out;
  float factor;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = in.extent.count(), i = in.extent.offset(x, y, z);
    for (int c = 0; c < 3; ++c) out.data[i + c * n] = factor * in.data[i + c * n];
  }
};

/// Solves v + u(y + v) = 0 at every y by Newton's method on the trilinear u, backtracking where a
/// step does not help.
struct InvertBody {
  FieldView<const float> u;
  FieldView<float> v;
  int max_iterations;
  float tolerance;
  int first_slice;  // of the extent that is swept

  struct Residual {
    float r[3];     // v + u(y + v)
    float j[3][3];  // I + grad u there
    FREEFLOW_HD float squared() const { return fma_(r[0], r[0], fma_(r[1], r[1], r[2] * r[2])); }
  };

  FREEFLOW_HD Residual residual(const Vec3f& y, const float d[3]) const {
    const Vec3f p{y.x + d[0], y.y + d[1], y.z + d[2]};
    const Extent n = u.extent;
    const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
    Residual result;
    for (int c = 0; c < 3; ++c) {
      const SampleWithGradient s =
          interpolate_with_gradient(fetch_cell(u.plane(c).data, n, cx, cy, cz), cx, cy, cz);
      result.r[c] = d[c] + s.value;
      result.j[c][0] = s.gradient.x + (c == 0 ? 1.0f : 0.0f);
      result.j[c][1] = s.gradient.y + (c == 1 ? 1.0f : 0.0f);
      result.j[c][2] = s.gradient.z + (c == 2 ? 1.0f : 0.0f);
    }
    return result;
  }

  /// The Newton step J^-1 r by Cramer's rule; the plain residual where J is near singular.
  static FREEFLOW_HD void newton_step(const Residual& at, float step[3]) {
    const auto& j = at.j;
    const auto& r = at.r;
    const float c00 = j[1][1] * j[2][2] - j[1][2] * j[2][1],
                c10 = j[1][2] * j[2][0] - j[1][0] * j[2][2],
                c20 = j[1][0] * j[2][1] - j[1][1] * j[2][0];
    const float det = j[0][0] * c00 + j[0][1] * c10 + j[0][2] * c20;
    if (!(det > 0.05f)) {
      for (int c = 0; c < 3; ++c) step[c] = r[c];
      return;
    }
    const float inverse = 1.0f / det;
    step[0] = inverse * (c00 * r[0] + (j[0][2] * j[2][1] - j[0][1] * j[2][2]) * r[1] +
                         (j[0][1] * j[1][2] - j[0][2] * j[1][1]) * r[2]);
    step[1] = inverse * (c10 * r[0] + (j[0][0] * j[2][2] - j[0][2] * j[2][0]) * r[1] +
                         (j[0][2] * j[1][0] - j[0][0] * j[1][2]) * r[2]);
    step[2] = inverse * (c20 * r[0] + (j[0][1] * j[2][0] - j[0][0] * j[2][1]) * r[1] +
                         (j[0][0] * j[1][1] - j[0][1] * j[1][0]) * r[2]);
  }

  FREEFLOW_HD void operator()(int x, int y, int slice) const {
    const int z = first_slice + slice;
    const std::size_t n = u.extent.count(), i = u.extent.offset(x, y, z);
    const Vec3f at{float(x), float(y), float(z)};
    float d[3] = {-u.data[i], -u.data[i + n], -u.data[i + 2 * n]};
    Residual now = residual(at, d);
    for (int k = 0; k < max_iterations && now.squared() > tolerance * tolerance; ++k) {
      float step[3];
      newton_step(now, step);
      float t = 1.0f;
      bool better = false;
      for (int halving = 0; halving < 5 && !better; ++halving, t *= 0.5f) {
        const float trial[3] = {d[0] - t * step[0], d[1] - t * step[1], d[2] - t * step[2]};
        const Residual next = residual(at, trial);
        better = next.squared() < now.squared();
        if (better) {
          now = next;
          for (int c = 0; c < 3; ++c) d[c] = trial[c];
        }
      }
      if (!better) break;
    }
    for (int c = 0; c < 3; ++c) v.data[i + c * n] = d[c];
  }
};

/// r(x) = u(x) + v(x + u(x)), which an exact inverse makes 0. It has no meaning where x + u(x)
/// leaves the grid.
struct InverseResidualBody {
  FieldView<const float> u, v;

  FREEFLOW_HD bool at(int x, int y, int z, float r[3]) const {
    const Extent n = u.extent;
    const Vec3f d{u.plane(0)(x, y, z), u.plane(1)(x, y, z), u.plane(2)(x, y, z)};
    const Vec3f p{float(x) + d.x, float(y) + d.y, float(z) + d.z};
    r[0] = d.x + sample_linear_clamped(v.plane(0), p);
    r[1] = d.y + sample_linear_clamped(v.plane(1), p);
    r[2] = d.z + sample_linear_clamped(v.plane(2), p);
    return inside(p, n);
  }
  static FREEFLOW_HD bool inside(const Vec3f& p, Extent n) {
    return p.x >= 0 && p.y >= 0 && p.z >= 0 && p.x <= float(n.x - 1) && p.y <= float(n.y - 1) &&
           p.z <= float(n.z - 1);
  }
};

struct InverseResidualFieldBody {
  InverseResidualBody body;
  FieldView<float> residual;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    float r[3];
    const bool inside = body.at(x, y, z, r);
    for (int c = 0; c < 3; ++c) residual.plane(c)(x, y, z) = inside ? r[c] : 0.0f;
  }
};

/// v(y) -= r(y + v(y)): carries the residual to the inverse's own voxels. In place: a voxel reads
/// only its own v.
struct InverseCorrectionBody {
  FieldView<const float> residual;
  FieldView<float> v;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = v.extent.count(), i = v.extent.offset(x, y, z);
    const Vec3f p{float(x) + v.data[i], float(y) + v.data[i + n], float(z) + v.data[i + 2 * n]};
    for (int c = 0; c < 3; ++c) v.data[i + c * n] -= sample_linear_clamped(residual.plane(c), p);
  }
};

/// The residual's length; NaN where it has no meaning.
struct InverseResidualLengthBody {
  InverseResidualBody body;
  VolumeView<float> length;
  static FREEFLOW_HD float of(bool inside, const float r[3]) {
    const float squared = fma_(r[0], r[0], fma_(r[1], r[1], r[2] * r[2]));
    return inside ? sqrtf(squared) : NAN;
  }
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    float r[3];
    const bool inside = body.at(x, y, z, r);
    length(x, y, z) = of(inside, r);
  }
};

struct InverseResidualSumBody : SumBody {
  const float* length;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const float l = length[i];
    return l != l ? 0.0 : term == 0 ? double(l) : 1.0;
  }
};

struct InverseResidualMaxBody : MaxBody {
  const float* length;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    return length[i] == length[i] ? double(length[i]) : 0.0;
  }
};

/// Derivative along an axis, per voxel: central inside, one-sided at the border, 0 on an axis of
/// one voxel.
FREEFLOW_HD float derivative(VolumeView<const float> f, int x, int y, int z, int axis) {
  const int n = f.extent[axis], i = axis == 0 ? x : axis == 1 ? y : z;
  const std::size_t stride = axis == 0   ? 1
                             : axis == 1 ? f.extent.x
                                         : std::size_t(f.extent.x) * f.extent.y;
  const float* p = f.data + f.offset(x, y, z);
  const int up = i + 1 < n ? 1 : 0, down = i > 0 ? 1 : 0;
  const float difference = p[up * stride] - *(p - down * stride);
  return up + down == 2 ? 0.5f * difference : difference;
}

FREEFLOW_HD float jacobian_at(FieldView<const float> u, int x, int y, int z) {
  float g[3][3];
  for (int c = 0; c < 3; ++c)
    for (int axis = 0; axis < 3; ++axis)
      g[c][axis] = derivative(u.plane(c), x, y, z, axis) + (c == axis ? 1.0f : 0.0f);
  return g[0][0] * (g[1][1] * g[2][2] - g[1][2] * g[2][1]) -
         g[0][1] * (g[1][0] * g[2][2] - g[1][2] * g[2][0]) +
         g[0][2] * (g[1][0] * g[2][1] - g[1][1] * g[2][0]);
}

/// The smallest of the eight determinants by forward or backward differences along each axis, the
/// voxel's corners (Liu 2024); at the border those that exist. Each is linear in every axis'
/// difference, so the determinant by central differences is the mean of the eight: where this is
/// positive, that is too.
FREEFLOW_HD float corner_jacobian_at(FieldView<const float> u, int x, int y, int z) {
  const Extent n = u.extent;
  const int at[3] = {x, y, z};
  const std::size_t stride[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
  float d[3][2][3];  // axis, backward or forward, component
  for (int c = 0; c < 3; ++c) {
    const float* p = u.plane(c).data + n.offset(x, y, z);
    for (int axis = 0; axis < 3; ++axis) {
      const std::size_t up = at[axis] + 1 < n[axis] ? stride[axis] : 0,
                        down = at[axis] > 0 ? stride[axis] : 0;
      const float ahead = p[up], behind = *(p - down), along = c == axis ? 1.0f : 0.0f;
      d[axis][0][c] = (down > 0 ? p[0] - behind : ahead - p[0]) + along;
      d[axis][1][c] = (up > 0 ? ahead - p[0] : p[0] - behind) + along;
    }
  }
  float least = 3e38f;
  for (int j = 0; j < 2; ++j)
    for (int k = 0; k < 2; ++k) {
      const float* const b = d[1][j];
      const float* const e = d[2][k];
      const float across[3] = {b[1] * e[2] - b[2] * e[1], b[2] * e[0] - b[0] * e[2],
                               b[0] * e[1] - b[1] * e[0]};
      for (int i = 0; i < 2; ++i) {
        const float* const a = d[0][i];
        const float now = fma_(a[0], across[0], fma_(a[1], across[1], a[2] * across[2]));
        least = now < least || now != now ? now : least;
      }
    }
  return least;
}

struct JacobianBody {
  FieldView<const float> u;
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const { out(x, y, z) = jacobian_at(u, x, y, z); }
};

struct CornerJacobianBody {
  FieldView<const float> u;
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    out(x, y, z) = corner_jacobian_at(u, x, y, z);
  }
};

struct FoldedSumBody : SumBody {
  const float* jacobian;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return jacobian[i] > 0 ? 0.0 : 1.0; }
};

/// Terms: count of J <= 0, sum of log J, sum of log^2 J.
struct JacobianSumBody : SumBody {
  const float* jacobian;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const float j = jacobian[i];
    if (!(j > 0)) return term == 0 ? 1.0 : 0.0;
    if (term == 0) return 0.0;
    const double l = log_positive(double(j));
    return term == 1 ? l : l * l;
  }
};

/// Terms: offset - smallest J, offset + largest J. The offset keeps both positive, as a maximum
/// over a tree needs.
struct JacobianRangeBody : MaxBody {
  static constexpr double offset = 1e6;
  const float* jacobian;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    return term == 0 ? offset - jacobian[i] : offset + jacobian[i];
  }
};

/// Samples u (of another grid) at the mapped point and turns the vector into this grid's voxels.
struct ResampleFieldBody {
  FieldView<const float> u;
  FieldView<float> out;
  PointMap to_source;   // out's voxel index to u's voxel index
  PointMap vector_map;  // u's voxels to out's voxels (linear part only)

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Vec3f p = map_point(to_source, float(x), float(y), float(z));
    write(out.extent.offset(x, y, z),
          {sample_linear_clamped(u.plane(0), p), sample_linear_clamped(u.plane(1), p),
           sample_linear_clamped(u.plane(2), p)});
  }
  FREEFLOW_HD void write(std::size_t i, const Vec3f& d) const {
    const Vec3f r = map_point(vector_map, d.x, d.y, d.z);
    const std::size_t n = out.extent.count();
    out.data[i] = r.x;
    out.data[i + n] = r.y;
    out.data[i + 2 * n] = r.z;
  }
};

}  // namespace freeflow
