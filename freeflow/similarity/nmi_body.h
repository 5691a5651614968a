// Private: the mathematics of nmi.h, from images to bins, from counts to entropies, and back to a force per voxel.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/joint_histogram/parzen_body.h>

namespace freeflow {

/// Intensity to hard bin; clipped to the range.
struct FixedBinBody {
  VolumeView<const float> image;
  VolumeView<std::uint16_t> bin;
  float low, bins_per_unit;
  int bins;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = image(x, y, z), b = (v - low) * bins_per_unit;
    const float top = float(bins - 1), c = b > 0.0f ? (b < top ? b : top) : 0.0f;
    bin(x, y, z) = v - v == 0.0f ? std::uint16_t(int(c + 0.5f)) : HistogramInput::no_bin;
  }
};

/// Intensity to continuous bin in [1, bins - 2], so that the Parzen window stays on the axis; clipped to the range.
struct MovingBinBody {
  VolumeView<const float> image;
  VolumeView<float> bin;
  float low, bins_per_unit;
  int bins;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = image(x, y, z), b = fma_(v - low, bins_per_unit, 1.0f), top = float(bins - 2);
    bin(x, y, z) = v - v == 0.0f ? (b > 1.0f ? (b < top ? b : top) : 1.0f) : NAN;
  }
};

/// marginals: first fixed_bins row sums, then moving_bins column sums.
struct MarginalBody {
  const std::uint64_t* histogram;
  std::uint64_t* marginals;
  int fixed_bins, moving_bins;
  FREEFLOW_HD void operator()(int i, int, int) const {
    const bool row = i < fixed_bins;
    const std::uint64_t* h = row ? histogram + std::size_t(i) * moving_bins : histogram + (i - fixed_bins);
    const int n = row ? moving_bins : fixed_bins, stride = row ? 1 : moving_bins;
    std::uint64_t sum = 0;
    for (int k = 0; k < n; ++k) sum += h[std::size_t(k) * stride];
    marginals[i] = sum;
  }
};

/// Terms: sum of c log c over the joint bins, the fixed and the moving marginal; the total mass.
struct EntropySumBody : SumBody {
  const std::uint64_t *histogram, *marginals;
  int fixed_bins, moving_bins;
  static FREEFLOW_HD double c_log_c(std::uint64_t c) { return c ? double(c) * log_positive(double(c)) : 0.0; }
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

/// The cost, and d NMI / d p of every joint bin (up to constants that the window's derivative cancels), divided by the
/// number of overlapping voxels, so that a voxel only has to weigh four of them.
struct NmiDerivativeBody {
  const std::uint64_t *histogram, *marginals;
  const double* sums;
  int fixed_bins;
  double unit;
  VolumeView<float> derivative;  // moving_bins x fixed_bins x 1
  double* cost;
  FREEFLOW_HD void operator()(int m, int f, int) const {
    const Entropies h = Entropies::from(sums);
    const bool defined = h.mass > 0 && h.joint > 1e-12;
    const double nmi = (h.fixed + h.moving) / h.joint;
    if (m == 0 && f == 0) *cost = defined ? -nmi : h.mass > 0 ? -1.0 : double(NAN);
    const std::uint64_t joint = histogram[std::size_t(f) * derivative.extent.x + m], moving = marginals[fixed_bins + m];
    const double log_joint = log_positive(double(joint ? joint : 1) / h.mass);
    const double log_moving = log_positive(double(moving ? moving : 1) / h.mass);
    derivative(m, f, 0) = defined ? float((nmi * log_joint - log_moving) / (h.joint * (h.mass / unit))) : 0.0f;
  }
};

/// Turns the warped gradient (bins per voxel), in place, into the force d NMI / d u(x).
struct NmiForceBody {
  VolumeView<const std::uint16_t> fixed_bin;
  VolumeView<const float> warped;
  const float* derivative;
  int moving_bins;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = warped.extent.count(), i = warped.offset(x, y, z);
    const float b = warped.data[i];
    const int f = fixed_bin.data[i];
    const bool counts = (f != HistogramInput::no_bin) & (b == b);
    float t, w[4];
    const int cell = parzen_cell(counts ? b : 1.0f, moving_bins, t);
    bspline_weight_derivatives(t, w);
    const float* d = derivative + (counts ? f : 0) * moving_bins + cell;
    const float slope = fma_(w[3], d[3], fma_(w[2], d[2], fma_(w[1], d[1], w[0] * d[0])));
    force.data[i] = counts ? slope * force.data[i] : 0.0f;
    force.data[i + n] = counts ? slope * force.data[i + n] : 0.0f;
    force.data[i + 2 * n] = counts ? slope * force.data[i + 2 * n] : 0.0f;
  }
};

}  // namespace freeflow
