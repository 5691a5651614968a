// Private: the mathematics of correlation_ratio.h around the sums: images to bins and intensities,
// and the force per voxel.
#pragma once

#include <freeflow/similarity/intensity_bins_body.h>
#include <freeflow/similarity/joint_histogram/weights_body.h>
#include <freeflow/similarity/ratio_histogram/voxel_body.h>

namespace freeflow {

/// Intensity to y in [0, RatioInput::most]; clipped to the range, NaN stays.
FREEFLOW_HD float ratio_intensity(float v, float low, float per_unit) {
  const float y = (v - low) * per_unit;
  return v - v == 0.0f ? (y > 0.0f ? (y < RatioInput::most ? y : RatioInput::most) : 0.0f) : NAN;
}

struct RatioMovingBody {
  VolumeView<const float> image;
  VolumeView<float> y_of;
  float low, per_unit;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    y_of(x, y, z) = ratio_intensity(image(x, y, z), low, per_unit);
  }
};

struct RatioFixedBody {
  VolumeView<const float> image;
  VolumeView<std::uint16_t> y_of;
  float low, per_unit;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float v = ratio_intensity(image(x, y, z), low, per_unit);
    y_of(x, y, z) = v == v ? std::uint16_t(int(v + 0.5f)) : RatioInput::no_value;
  }
};

/// What a unit of weight and of intensity are worth: E = A / B with A the spread about the bins'
/// means, B = N var, in parts of the range. A mean is where its sum of squares is least, so its own
/// change does not count.
struct RatioSlopes {
  float ratio, mean, inverse;  // E, m, 1 / B
  static FREEFLOW_HD RatioSlopes of(const RatioStatistics& s) {
    constexpr double most = double(RatioInput::most);
    return {float(s.cost), float(s.mean / most),
            s.spread > 0 ? float(most * most / s.spread) : 0.0f};
  }
};

/// What turns a voxel's slopes into its force: the place of its sample and the gradient of its
/// weight there.
struct RatioPlace {
  DisplacedPoint point;
  Extent moving;
  BorderWeight border;

  /// force = -(by_value * gradient of the value + by_weight * gradient of the weight), in place
  /// over the former.
  FREEFLOW_HD void turn(FieldView<float> force, std::size_t i, bool counts, float by_value,
                        float by_weight, const Vec3f& weight_gradient) const {
    const auto& m = point.map.m;
    const std::size_t n = force.extent.count();
    for (int c = 0; c < 3; ++c) {
      const float w = fma_(m[0][c], weight_gradient.x,
                           fma_(m[1][c], weight_gradient.y, m[2][c] * weight_gradient.z));
      const float f = fma_(by_value, force.data[i + c * n], by_weight * w);
      force.data[i + c * n] = counts ? -f : 0.0f;
    }
  }
};

/// eta(moving | fixed). dE/dy = 2 w ((y - m_i) - E (y - m)) / B, dE/dw = ((y - m_i)^2 - E (y -
/// m)^2) / B.
struct RatioForceBody {
  VolumeView<const std::uint16_t> bin;
  VolumeView<const float> warped;  // y; `force` comes in as its gradient
  const float* means;
  const RatioStatistics* statistics;
  RatioPlace place;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = warped.offset(x, y, z);
    const float v = warped.data[i];
    const int f = bin.data[i];
    const bool counts = (f != RatioInput::no_value) & (v == v);
    const RatioSlopes s = RatioSlopes::of(*statistics);
    Vec3f gradient;
    const float w = place.border.with_gradient(place.point(x, y, z), place.moving, gradient);
    const float value = v * (1.0f / RatioInput::most), in_bin = value - means[counts ? f : 0],
                in_all = value - s.mean;
    const float by_value =
        2.0f * w * fma_(-s.ratio, in_all, in_bin) * s.inverse * (1.0f / RatioInput::most);
    const float by_weight = fma_(in_bin, in_bin, -s.ratio * (in_all * in_all)) * s.inverse;
    place.turn(force, i, counts, by_value, by_weight, gradient);
  }
};

/// eta(fixed | moving), y of the fixed image, b the warped one in bins, p_k its window. The masses
/// of a voxel sum to its weight, so B does not depend on b: dE/db = w sum_k p_k' (y - m_k)^2 / B,
/// dE/dw = (sum_k p_k (y - m_k)^2 - E (y - m)^2) / B.
struct RatioParzenForceBody {
  VolumeView<const std::uint16_t> fixed;
  VolumeView<const float> warped;  // b; `force` comes in as its gradient
  const float* means;
  const RatioStatistics* statistics;
  int bins;
  RatioPlace place;
  FieldView<float> force;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = warped.offset(x, y, z);
    const float b = warped.data[i];
    const bool counts = (fixed.data[i] != RatioInput::no_value) & (b == b);
    const RatioSlopes s = RatioSlopes::of(*statistics);
    Vec3f gradient;
    const float w = place.border.with_gradient(place.point(x, y, z), place.moving, gradient);
    const float value = float(fixed.data[i]) * (1.0f / RatioInput::most), in_all = value - s.mean;
    float t, p[4], slope[4];
    const int cell = parzen_cell(counts ? b : 1.0f, bins, t);
    bspline_weights(t, p);
    bspline_weight_derivatives(t, slope);
    float by_bin = 0, inside = 0;
    for (int k = 0; k < 4; ++k) {
      const float d = value - means[cell + k];
      by_bin = fma_(slope[k], d * d, by_bin);
      inside = fma_(p[k], d * d, inside);
    }
    place.turn(force, i, counts, w * by_bin * s.inverse,
               fma_(-s.ratio, in_all * in_all, inside) * s.inverse, gradient);
  }
};

}  // namespace freeflow
