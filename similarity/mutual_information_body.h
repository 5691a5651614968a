// Private: the mathematics of mutual_information.h, from images to bins, from counts to entropies,
// and back to a force per voxel.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/intensity_bins_body.h>
#include <freeflow/similarity/joint_histogram/weights_body.h>
#include <freeflow/similarity/mutual_information.h>

namespace freeflow {

/// marginals: first fixed_bins row sums, then moving_bins column sums.
struct MarginalBody {
  // few threads with many reads each: they may have all registers
  static constexpr int blocks_at_once = 1;
  const std::uint64_t* histogram;
  std::uint64_t* marginals;
  int fixed_bins, moving_bins;
  FREEFLOW_HD void operator()(int i, int, int) const {
    const bool row = i < fixed_bins;
    const std::uint64_t* h =
        row ? histogram + std::size_t(i) * moving_bins : histogram + (i - fixed_bins);
    const int n = row ? moving_bins : fixed_bins, stride = row ? 1 : moving_bins;
    std::uint64_t sum = 0;
#pragma unroll 16
    for (int k = 0; k < n; ++k) sum += h[std::size_t(k) * stride];
    marginals[i] = sum;
  }
};

struct AddCountsBody {
  const std::uint64_t* counts;
  std::uint64_t* sum;
  FREEFLOW_HD void operator()(int i, int, int) const { sum[i] += counts[i]; }
};

/// Terms: sum of c log c over the joint bins, the fixed and the moving marginal; the total mass.
struct EntropySumBody : SumBody {
  const std::uint64_t *histogram, *marginals;
  int fixed_bins, moving_bins;
  /// 0 for 0; without a branch, so that a GPU's compiler lets several logarithms overlap.
  static FREEFLOW_HD double c_log_c(std::uint64_t c) {
    return double(c) * log_positive(double(c ? c : 1));
  }
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    if (term == 0) return c_log_c(histogram[i]);
    if (term == 2) return i < std::size_t(moving_bins) ? c_log_c(marginals[fixed_bins + i]) : 0.0;
    if (i >= std::size_t(fixed_bins)) return 0.0;
    return term == 1 ? c_log_c(marginals[i]) : double(marginals[i]);
  }
};

/// Entropies in nats from the sums: H = log M - (sum c log c) / M.
struct Entropies {
  double joint, fixed, moving, mass;
  static FREEFLOW_HD Entropies from(const double* sums) {
    const double mass = sums[3], log_mass = mass > 0 ? log_positive(mass) : 0.0;
    return {log_mass - sums[0] / mass, log_mass - sums[1] / mass, log_mass - sums[2] / mass, mass};
  }
};

/// The four measures are nmi: -(Hf + Hm) / H, mi: H - Hf - Hm, conditional_moving: H - Hf,
/// conditional_fixed: H - Hm.
struct InformationCostBody {
  const double* sums;
  Information measure;
  double* cost;
  FREEFLOW_HD void operator()(int, int, int) const {
    const Entropies h = Entropies::from(sums);
    double value =
        measure == Information::conditional_fixed ? h.joint - h.moving : h.joint - h.fixed;
    if (measure == Information::mi) value = value - h.moving;
    if (measure == Information::nmi)
      value = h.joint > 1e-12 ? -((h.fixed + h.moving) / h.joint) : -1.0;
    *cost = h.mass > 0 ? value : double(NAN);
  }
};

/// -d cost / d p of every joint bin, divided by the number of overlapping voxels, so that a voxel
/// only has to weigh a few of them; up to functions of the fixed bin, which a voxel's weights
/// cancel. With log p from d H / d p = -log p - 1:
///   nmi (NMI log p - log pm) / H,  mi and conditional_fixed log p - log pm, conditional_moving log
///                                  p.
struct SlopeBody {
  const std::uint64_t *histogram, *marginals;
  const double* sums;
  Information measure;
  int fixed_bins;
  double unit;
  InformationCostBody
      cost;  // the first bin writes it: a launch of its own takes 3 us of a GPU's time
  VolumeView<float> slope;  // moving_bins x fixed_bins x 1
  FREEFLOW_HD void operator()(int m, int f, int) const {
    if (m == 0 && f == 0) cost(0, 0, 0);
    const Entropies h = Entropies::from(sums);
    const bool nmi = measure == Information::nmi;
    const bool defined = h.mass > 0 && (!nmi || h.joint > 1e-12);
    const std::uint64_t joint = histogram[std::size_t(f) * slope.extent.x + m],
                        moving = marginals[fixed_bins + m];
    const double log_joint = log_positive(double(joint ? joint : 1) / h.mass);
    const double log_moving = measure == Information::conditional_moving
                                  ? 0.0
                                  : log_positive(double(moving ? moving : 1) / h.mass);
    const double value = nmi ? ((h.fixed + h.moving) / h.joint * log_joint - log_moving) / h.joint
                             : log_joint - log_moving;
    slope(m, f, 0) = defined ? float(value / (h.mass / unit)) : 0.0f;
  }
};

/// A cubic window on both axes, centred on the bins: (1, 4, 1) / 6 each way, times 36. What would
/// leave an axis stays in its last bin.
struct BothWindowsBody {
  const std::uint64_t* counted;
  std::uint64_t* smoothed;
  int fixed_bins, moving_bins;
  FREEFLOW_HD std::uint64_t row(int m, int f) const {
    const std::uint64_t* h = counted + std::size_t(f) * moving_bins;
    return h[m > 0 ? m - 1 : 0] + 4 * h[m] + h[m + 1 < moving_bins ? m + 1 : m];
  }
  FREEFLOW_HD void operator()(int m, int f, int) const {
    smoothed[std::size_t(f) * moving_bins + m] =
        row(m, f > 0 ? f - 1 : 0) + 4 * row(m, f) + row(m, f + 1 < fixed_bins ? f + 1 : f);
  }
};

/// The derivative of the sum of weight times slope over a cell of the moving axis: a quadratic of
/// the fraction t, four slopes' worth of table and arithmetic in one load.
struct alignas(16) SlopePolynomial {
  float constant, linear, quadratic, unused;
};

/// For both windows, the one over the fixed axis comes once more: a voxel's mass lies in three
/// rows.
struct SlopePolynomialBody {
  VolumeView<const float> slope;  // moving_bins x fixed_bins x 1
  bool both_windows;
  SlopePolynomial* polynomial;  // cell (first bin) + moving_bins * fixed bin

  FREEFLOW_HD float at(int m, int f) const {
    m = m < slope.extent.x ? m : slope.extent.x - 1;
    if (!both_windows) return slope(m, f, 0);
    const float below = slope(m, f > 0 ? f - 1 : 0, 0),
                above = slope(m, f + 1 < slope.extent.y ? f + 1 : f, 0);
    return fma_(4.0f, slope(m, f, 0), below + above) * (1.0f / 6);
  }
  FREEFLOW_HD void operator()(int m, int f, int) const {
    const float d0 = at(m, f), d1 = at(m + 1, f), d2 = at(m + 2, f), d3 = at(m + 3, f);
    polynomial[slope.offset(m, f, 0)] = {0.5f * (d2 - d0), (d0 - d1) + (d2 - d1),
                                         fma_(1.5f, d1 - d2, 0.5f * (d3 - d0)), 0.0f};
  }
};

/// What the forces share: where a voxel falls, and the slopes of its row.
struct InformationPoint {
  static constexpr int blocks_at_once = 8;
  VolumeView<const std::uint16_t> fixed_bin;
  VolumeView<const float> moving;
  DisplacedPoint point;
  const float* slopes;
  const SlopePolynomial* polynomials;
  int moving_bins;

  FREEFLOW_HD SampleWithGradient sample(int x, int y, int z) const {
    return sample_linear_with_gradient(moving, point(x, y, z));
  }
  FREEFLOW_HD float value(int x, int y, int z) const {
    return sample_linear(moving, point(x, y, z));
  }
  /// d / d warped of the sum of weight times slope, per bin.
  FREEFLOW_HD float window_slope(int f, float b) const {
    float t;
    const int cell = f * moving_bins + parzen_cell(b, moving_bins, t);
    const SlopePolynomial p = polynomials[cell];
    return fma_(fma_(p.quadratic, t, p.linear), t, p.constant);
  }
  /// The same at a voxel; 0 where it does not count.
  FREEFLOW_HD float slope_at(std::size_t i, float b) const {
    const int f = fixed_bin.data[i];
    const bool counts = (f != SampledPair::no_bin) & (b == b);
    const float slope = window_slope(counts ? f : 0, counts ? b : 1.0f);
    return counts ? slope : 0.0f;
  }
  /// Writes factor times the gradient (moving voxels), carried to the fixed grid's axes; 0 where
  /// the factor is, whatever the gradient.
  FREEFLOW_HD void write(FieldView<float> force, std::size_t i, float factor,
                         const Vec3f& gradient) const {
    const auto& m = point.map.m;
    const std::size_t n = force.extent.count();
    const Vec3f g{factor * gradient.x, factor * gradient.y, factor * gradient.z};
    const float x = fma_(m[0][0], g.x, fma_(m[1][0], g.y, m[2][0] * g.z));
    const float y = fma_(m[0][1], g.x, fma_(m[1][1], g.y, m[2][1] * g.z));
    const float z = fma_(m[0][2], g.x, fma_(m[1][2], g.y, m[2][2] * g.z));
    force.data[i] = factor != 0.0f ? x : 0.0f;
    force.data[i + n] = factor != 0.0f ? y : 0.0f;
    force.data[i + 2 * n] = factor != 0.0f ? z : 0.0f;
  }
};

/// The same for tricubic samples.
struct CubicInformationPoint : InformationPoint {
  static constexpr int blocks_at_once = 0;  // the spline's weights take registers
  VolumeView<const float> coefficients;

  FREEFLOW_HD SampleWithGradient sample(int x, int y, int z) const {
    return sample_cubic_with_gradient(coefficients, moving, point(x, y, z));
  }
  FREEFLOW_HD float value(int x, int y, int z) const {
    return sample_cubic(coefficients, moving, point(x, y, z));
  }
  /// A spline overshoots: beyond the bins that images have, a voxel is counted where it was clipped
  /// to, whatever its intensity.
  FREEFLOW_HD float slope_at(std::size_t i, float b) const {
    return clip_to_window(b, moving_bins) == b ? InformationPoint::slope_at(i, b) : 0.0f;
  }
};

template <class Point>
struct ParzenForceBody {
  static constexpr int blocks_at_once = Point::blocks_at_once;
  Point at;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = at.fixed_bin.offset(x, y, z);
    const SampleWithGradient s = at.sample(x, y, z);
    at.write(force, i, at.slope_at(i, s.value), s.gradient);
  }
};

/// Maes 1999: the weights are trilinear, so their derivatives interpolate the slopes of the eight
/// voxels' bins.
struct PartialVolumeForceBody {
  InformationPoint at;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = at.fixed_bin.offset(x, y, z);
    const Vec3f p = at.point(x, y, z);
    const Extent n = at.moving.extent;
    const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
    const Cell c = fetch_cell(at.moving.data, n, cx, cy, cz);
    const int f = at.fixed_bin.data[i];
    const bool lands = has_value(p, n), known = !has_nan(c);
    const bool counts = (f != SampledPair::no_bin) & lands & known;
    const float* row = at.slopes + (counts ? f : 0) * at.moving_bins;
    const auto slope = [&](float b) { return row[hard_bin(counts ? b : 0.0f, at.moving_bins)]; };
    const Cell slopes{slope(c.v000), slope(c.v100), slope(c.v010), slope(c.v110),
                      slope(c.v001), slope(c.v101), slope(c.v011), slope(c.v111)};
    at.write(force, i, counts ? 1.0f : 0.0f,
             interpolate_with_gradient(slopes, cx, cy, cz).gradient);
  }
};

template <class Point>
struct IntensityDerivativeBody {
  Point at;
  float bins_per_unit;
  VolumeView<float> derivative;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = at.fixed_bin.offset(x, y, z);
    const float slope = at.slope_at(i, at.value(x, y, z));
    derivative.data[i] = slope != 0.0f ? -(slope * bins_per_unit) : 0.0f;
  }
};

}  // namespace freeflow
