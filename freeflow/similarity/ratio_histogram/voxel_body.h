// Private: what one voxel adds to the sums of ratio_histogram.h, once for every scheme and backend.
#pragma once

#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/joint_histogram/parzen_body.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

namespace freeflow {

/// The weight near the border of a field of view: per axis 0 on the border, half a voxel outside the outermost centres, and
/// 1 from `border` voxels on; the product over the axes. `per_voxel` is 1 / border, 0 for none.
struct BorderWeight {
  Vec3f per_voxel;

  static float inverse(float border) { return border > 0 ? 1.0f / border : 0.0f; }
  static BorderWeight of(const RatioShape& shape) { return {{inverse(shape.border.x), inverse(shape.border.y), inverse(shape.border.z)}}; }

  /// Weight of one axis and its derivative.
  static FREEFLOW_HD float on_axis(float p, int n, float per_voxel, float& slope) {
    const float low = p + 0.5f, high = float(n) - 0.5f - p;
    const float w = (low < high ? low : high) * per_voxel;
    const bool inside = (per_voxel > 0.0f) & (w < 1.0f);
    slope = inside ? (low < high ? per_voxel : -per_voxel) : 0.0f;
    return inside ? (w > 0.0f ? w : 0.0f) : 1.0f;
  }
  FREEFLOW_HD float operator()(const Vec3f& p, Extent n) const {
    float slope;
    return on_axis(p.x, n.x, per_voxel.x, slope) * on_axis(p.y, n.y, per_voxel.y, slope) * on_axis(p.z, n.z, per_voxel.z, slope);
  }
  FREEFLOW_HD float with_gradient(const Vec3f& p, Extent n, Vec3f& gradient) const {
    float sx, sy, sz;
    const float x = on_axis(p.x, n.x, per_voxel.x, sx), y = on_axis(p.y, n.y, per_voxel.y, sy), z = on_axis(p.z, n.z, per_voxel.z, sz);
    gradient = {sx * y * z, x * sy * z, x * y * sz};
    return x * y * z;
  }
  /// In units of 1 / 65536.
  static FREEFLOW_HD std::uint32_t mass(float weight) { return std::uint32_t(std::int32_t(fma_(weight, 65536.0f, 0.5f))); }
};

/// What one voxel adds: mass[k] to bin + k, mass[k] * y to the sums; a voxel that does not count has bin -1 and no mass.
template <int taps>
struct RatioVoxel {
  std::int32_t bin;
  std::uint32_t y;
  std::uint32_t mass[taps];

  FREEFLOW_HD std::uint32_t total() const {
    std::uint32_t sum = 0;
    for (int k = 0; k < taps; ++k) sum += mass[k];
    return sum;
  }
};

template <bool nearest>
FREEFLOW_HD float ratio_sample(VolumeView<const float> moving, const Vec3f& p) {
  if constexpr (nearest)
    return sample_nearest(moving, p);
  else
    return sample_linear(moving, p);
}

/// eta(moving | fixed): a hard bin of the fixed image, y from the warped one.
template <bool nearest, bool weighted>
struct FixedBinVoxel {
  static constexpr int taps = 1;
  static constexpr bool wide = weighted;  // masses beyond 1: a sum of mass * y takes 64 bits
  DisplacedPoint point;
  VolumeView<const float> moving;
  const std::uint16_t* fixed;
  BorderWeight weight;
  int bins;

  FREEFLOW_HD RatioVoxel<1> operator()(int x, int y, int z, std::size_t i) const { return at(x, y, z, fixed[i]); }
  /// With the fixed plane's value already at hand.
  FREEFLOW_HD RatioVoxel<1> at(int x, int y, int z, std::uint16_t f) const {
    const Vec3f p = point(x, y, z);
    const float v = ratio_sample<nearest>(moving, p);
    const bool counts = (f != RatioInput::no_value) & (v == v);
    const std::uint32_t mass = weighted ? BorderWeight::mass(weight(counts ? p : Vec3f{}, moving.extent)) : 1u;
    return {counts ? std::int32_t(f) : -1, counts ? std::uint32_t(std::int32_t(v + 0.5f)) : 0u, {counts ? mass : 0u}};
  }
};

/// eta(fixed | moving): four bins of the warped image, y from the fixed one.
template <bool nearest>
struct MovingBinVoxel {
  static constexpr int taps = 4;
  static constexpr bool wide = true;
  DisplacedPoint point;
  VolumeView<const float> moving;
  const std::uint16_t* fixed;
  BorderWeight weight;
  int bins;

  FREEFLOW_HD RatioVoxel<4> operator()(int x, int y, int z, std::size_t i) const {
    const Vec3f p = point(x, y, z);
    const float v = ratio_sample<nearest>(moving, p);
    const std::uint16_t f = fixed[i];
    const bool counts = (f != RatioInput::no_value) & (v == v);
    const ParzenWeights w = parzen_weights(counts ? v : 1.0f, bins);
    const std::uint32_t mass = counts ? BorderWeight::mass(weight(counts ? p : Vec3f{}, moving.extent)) : 0u;
    RatioVoxel<4> r{counts ? w.first : -1, counts ? std::uint32_t(f) : 0u, {}};
    // The first three rounded down, the fourth is the rest: they sum to the mass.
    for (int k = 0; k < 3; ++k) r.mass[k] = std::uint32_t(std::uint64_t(mass) * std::uint32_t(w.w[k]) >> 16);
    r.mass[3] = mass - r.mass[0] - r.mass[1] - r.mass[2];
    return r;
  }
};

/// Calls f with the voxel functor of a shape.
template <class F>
void with_ratio_voxel(const RatioShape& shape, const RatioInput& input, F&& f) {
  const DisplacedPoint point{input.map, {input.u.data, input.extent}};
  const BorderWeight weight = BorderWeight::of(shape);
  const auto call = [&]<class Voxel>(Voxel*) { f(Voxel{point, input.moving, input.fixed, weight, shape.bins}); };
  if (shape.direction == RatioDirection::fixed_given_moving)
    shape.nearest ? call(static_cast<MovingBinVoxel<true>*>(nullptr)) : call(static_cast<MovingBinVoxel<false>*>(nullptr));
  else if (shape.weighted())
    shape.nearest ? call(static_cast<FixedBinVoxel<true, true>*>(nullptr)) : call(static_cast<FixedBinVoxel<false, true>*>(nullptr));
  else
    shape.nearest ? call(static_cast<FixedBinVoxel<true, false>*>(nullptr)) : call(static_cast<FixedBinVoxel<false, false>*>(nullptr));
}

}  // namespace freeflow
