// Private: the mathematics of lncc.h. With n, F, M, FF, MM, FM the window sums of 1, f, m, f^2,
// m^2, f m over the overlap,
//   A = (FM - F M / n) / n,  B and C likewise;  L = A^2 / ((B + e) (C + e)).
// A voxel y stands in the windows of all x about it: dL(x)/dm(y) = a(x) (f(y) - F(x)/n) - c(x)
// (m(y) - M(x)/n) with
//   a = 2 A / (n (B + e) (C + e)),  c = a A / (C + e),
// so the derivative of the whole is f(y) S[a] - m(y) S[c] + S[c M/n - a F/n]: three further window
// sums S.
#pragma once

#include <cstdint>

#include <freeflow/deform/row_cells.h>
#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/intensity_range_body.h>
#include <freeflow/similarity/window_sum.h>

namespace freeflow {

struct LnccIntensityBody {
  VolumeView<const float> image;
  VolumeView<float> out;
  float low, per_unit;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    out(x, y, z) = in_parts_of_range(image(x, y, z), low, per_unit);
  }
};

/// The six moments of every voxel, summed along z.
struct LnccMomentsAlongZ {
  static constexpr int terms = 6, inputs = 2;
  static constexpr float absent = NAN;
  const float *fixed, *warped;
  VolumeView<float> out;  // the first of six planes
  FREEFLOW_HD void load(std::size_t i, float* in) const {
    in[0] = read_only(fixed + i);
    in[1] = read_only(warped + i);
  }
  static FREEFLOW_HD Terms<6> widen(const float* in) {
    const float f = in[0], m = in[1];
    const bool counts = (f == f) & (m == m);
    const double df = counts ? f : 0.0f,
                 dm = counts ? m : 0.0f;  // their products are exact in double
    return {{counts ? 1.0 : 0.0, df, dm, df * df, dm * dm, df * dm}};
  }
  FREEFLOW_HD void emit(const float* sums, int x, int y, int z) const {
    const std::size_t plane = out.extent.count(), i = out.offset(x, y, z);
    for (int k = 0; k < terms; ++k) out.data[k * plane + i] = sums[k];
  }
};

/// Planes to planes; `out` must not be `in`.
template <int K>
struct PlanesAlongZ {
  static constexpr int terms = K, inputs = K;
  static constexpr float absent = 0;
  const float* in;
  VolumeView<float> out;
  FREEFLOW_HD void load(std::size_t i, float* v) const {
    const std::size_t plane = out.extent.count();
    for (int k = 0; k < K; ++k) v[k] = read_only(in + k * plane + i);
  }
  static FREEFLOW_HD Terms<K> widen(const float* v) {
    Terms<K> t;
    for (int k = 0; k < K; ++k) t.v[k] = double(v[k]);
    return t;
  }
  FREEFLOW_HD void emit(const float* sums, int x, int y, int z) const {
    const std::size_t plane = out.extent.count(), i = out.offset(x, y, z);
    for (int k = 0; k < K; ++k) out.data[k * plane + i] = sums[k];
  }
};

template <int K>
struct PlanesAlongYx {
  static constexpr int terms = K;
  const float* in;
  VolumeView<float> out;
  FREEFLOW_HD void emit(const float* sums, int x, int y, int z, double&, double&) const {
    const std::size_t plane = out.extent.count(), i = out.offset(x, y, z);
    for (int k = 0; k < K; ++k) out.data[k * plane + i] = sums[k];
  }
  FREEFLOW_HD void close(int, int, int, double, double) const {}
};

/// The last sums of the moments, LNCC from them, and the coefficients a, c, c M/n - a F/n of its
/// derivative.
struct LnccCoefficientsAlongYx {
  static constexpr int terms = 6;
  const float *in, *fixed, *warped;
  float e;
  VolumeView<float> out;  // the first of three planes; null data: the value alone
  double* tally;  // per column and segment: the sum of LNCC; after all those, the number of voxels
  int segments;

  /// a / b, exact where that is a float: then flat windows have no variance at all.
  static FREEFLOW_HD float quotient(float a, float b, float per_b) {
    const float q = a * per_b;
    return fma_(fma_(-q, b, a), per_b, q);
  }
  FREEFLOW_HD void emit(const float* s, int x, int y, int z, double& value, double& voxels) const {
    const std::size_t plane = out.extent.count(), i = out.offset(x, y, z);
    const float f = read_only(fixed + i), m = read_only(warped + i);
    const bool counts = (f == f) & (m == m);
    const float n = counts ? s[0] : 1.0f, per_n = 1.0f / n, mean_f = quotient(s[1], n, per_n),
                mean_m = quotient(s[2], n, per_n);
    const float b = fma_(fma_(-s[1], mean_f, s[3]), per_n, e),
                c = fma_(fma_(-s[2], mean_m, s[4]), per_n, e);
    const float a = fma_(-s[1], mean_m, s[5]) * per_n;
    const float slope = a * (1.0f / (b * c));
    value += counts ? double(a * slope) : 0.0;
    voxels += counts ? 1.0 : 0.0;
    if (!out.data) return;
    const float ca = 2.0f * per_n * slope, cc = ca * (slope * b);
    out.data[i] = counts ? ca : 0.0f;
    out.data[plane + i] = counts ? cc : 0.0f;
    out.data[2 * plane + i] = counts ? fma_(cc, mean_m, -(ca * mean_f)) : 0.0f;
  }
  FREEFLOW_HD void close(int x, int segment, int z, double value, double voxels) const {
    const std::size_t i = (std::size_t(z) * segments + segment) * out.extent.x + x;
    tally[i] = value;
    tally[std::size_t(out.extent.z) * segments * out.extent.x + i] = voxels;
  }
};

struct LnccTallyBody : SumBody {
  const double* tally;
  std::size_t count;
  FREEFLOW_HD double operator()(std::size_t i, int term) const { return tally[term * count + i]; }
};

struct LnccCostBody {
  const double* sums;
  double* cost;
  FREEFLOW_HD void operator()(int, int, int) const { *cost = -sums[0] / sums[1]; }
};

/// value() or 0. A CPU's compiler makes a branch of a condition and does not vectorise the loop
/// with it; a GPU's needs fewer registers where it may leave out what is not asked for.
template <class Value>
FREEFLOW_HD float or_zero(bool condition, Value value) {
#ifdef __CUDA_ARCH__
  return condition ? value() : 0.0f;
#else
  const std::uint32_t kept = 0u - std::uint32_t(condition);
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, value()) & kept);
#endif
}

/// The last sums of the coefficients, and the force.
struct LnccForceAlongZ {
  static constexpr int terms = 3, inputs = 3;
  static constexpr float absent = 0;
  const float *in, *fixed;
  VolumeView<const float> moving;
  DisplacedPoint point;
  const double* sums;  // [1]: overlapping voxels
  FieldView<float> force;

  FREEFLOW_HD void load(std::size_t i, float* v) const {
    const std::size_t plane = force.extent.count();
    for (int k = 0; k < 3; ++k) v[k] = read_only(in + k * plane + i);
  }
  static FREEFLOW_HD Terms<3> widen(const float* v) {
    return {{double(v[0]), double(v[1]), double(v[2])}};
  }
  FREEFLOW_HD void emit(const float* s, int x, int y, int z) const {
    write(s, sample_linear_with_gradient(moving, point(x, y, z)), force.extent.offset(x, y, z));
  }
  void emit_row(const double (&s)[terms][window_sum::columns], int x, int y, int z,
                int count) const {
    const LnccForceAlongZ local = *this;
    const std::size_t first = force.extent.offset(x, y, z);
    RowCells cells;
    cells.locate(moving.extent, count, [&](int i) { return local.point(x + i, y, z); });
    cells.fetch(moving.data);
    RowGradients samples;
    cells.with_gradient(samples);
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) {
      const float sums_there[terms] = {float(s[0][i]), float(s[1][i]), float(s[2][i])};
      local.write(sums_there, samples[i], first + i);
    }
  }
  FREEFLOW_HD void write(const float* s, const SampleWithGradient& w, std::size_t i) const {
    const std::size_t n = force.extent.count();
    const float f = read_only(fixed + i);
    const bool counts = (f == f) & (w.value == w.value);
    const float slope = fma_(f, s[0], fma_(-w.value, s[1], s[2])) * float(1.0 / sums[1]);
    const auto& m = point.map.m;
    const Vec3f& g = w.gradient;
    force.data[i] = or_zero(
        counts, [&] { return slope * fma_(m[0][0], g.x, fma_(m[1][0], g.y, m[2][0] * g.z)); });
    force.data[i + n] = or_zero(
        counts, [&] { return slope * fma_(m[0][1], g.x, fma_(m[1][1], g.y, m[2][1] * g.z)); });
    force.data[i + 2 * n] = or_zero(
        counts, [&] { return slope * fma_(m[0][2], g.x, fma_(m[1][2], g.y, m[2][2] * g.z)); });
  }
};

}  // namespace freeflow
