// Private: what one voxel adds to the sums of ratio_histogram.h, once for every scheme and backend.
#pragma once

#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/joint_histogram/weights_body.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

namespace freeflow {

/// The weight near the border of a field of view: per axis 0 on the border, half a voxel outside
/// the outermost centres, and 1 from `border` voxels on; the product over the axes. `per_voxel` is
/// 1 / border, 0 for none.
struct BorderWeight {
  Vec3f per_voxel;

  static float inverse(float border) { return border > 0 ? 1.0f / border : 0.0f; }
  static BorderWeight of(const RatioShape& shape) {
    return {{inverse(shape.border.x), inverse(shape.border.y), inverse(shape.border.z)}};
  }

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
    return on_axis(p.x, n.x, per_voxel.x, slope) * on_axis(p.y, n.y, per_voxel.y, slope) *
           on_axis(p.z, n.z, per_voxel.z, slope);
  }
  FREEFLOW_HD float with_gradient(const Vec3f& p, Extent n, Vec3f& gradient) const {
    float sx, sy, sz;
    const float x = on_axis(p.x, n.x, per_voxel.x, sx), y = on_axis(p.y, n.y, per_voxel.y, sy),
                z = on_axis(p.z, n.z, per_voxel.z, sz);
    gradient = {sx * y * z, x * sy * z, x * y * sz};
    return x * y * z;
  }
  /// In units of 1 / 65536.
  static FREEFLOW_HD std::uint32_t mass(float weight) {
    return std::uint32_t(std::int32_t(fma_(weight, 65536.0f, 0.5f)));
  }
};

/// What one voxel adds: mass[k] to bin + k, mass[k] * y to the sums; a voxel that does not count
/// has bin -1 and no mass.
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

/// The integer nearest to a value in [0, 65535], halves up. On a GPU by the sum's last bits: a
/// conversion takes four times as long.
FREEFLOW_HD std::uint32_t round_half_up(float v) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(__fadd_rd(v + 0.5f, 8388608.0f)) & 0x1FFFF;
#else
  return std::uint32_t(std::int32_t(v + 0.5f));  // NOLINT(bugprone-incorrect-roundings)
#endif
}

/// What the two directions share: where a voxel's sample lies and what it weighs.
template <bool nearest_voxel, bool weighted>
struct RatioSource {
  static constexpr bool nearest = nearest_voxel;
  static constexpr std::uint32_t full_mass = weighted ? 65536 : 1;
  static constexpr bool wide = weighted;  // masses beyond 1: a sum of mass * y takes 64 bits
  DisplacedPoint point;
  VolumeView<const float> moving;
  const std::uint16_t* fixed;
  BorderWeight weight;
  int bins;

  FREEFLOW_HD float sample(const Vec3f& p) const { return ratio_sample<nearest>(moving, p); }
  FREEFLOW_HD std::uint32_t mass(const Vec3f& p, float v) const {
    return weighted ? BorderWeight::mass(weight(v == v ? p : Vec3f{}, moving.extent)) : 1u;
  }
};

/// eta(moving | fixed): a hard bin of the fixed image, y from the warped one.
template <bool nearest, bool weighted>
struct FixedBinVoxel : RatioSource<nearest, weighted> {
  static constexpr int taps = 1;
  FREEFLOW_HD RatioVoxel<1> operator()(float v, std::uint16_t f, std::uint32_t mass) const {
    const bool counts = (f != RatioInput::no_value) & (v == v);
    return {counts ? std::int32_t(f) : -1, counts ? round_half_up(v) : 0u, {counts ? mass : 0u}};
  }
};

/// eta(fixed | moving): four bins of the warped image, y from the fixed one.
template <bool nearest>
struct MovingBinVoxel : RatioSource<nearest, true> {
  static constexpr int taps = 4;
  FREEFLOW_HD RatioVoxel<4> operator()(float v, std::uint16_t f, std::uint32_t mass) const {
    const bool counts = (f != RatioInput::no_value) & (v == v);
    const Weights<4> w = parzen_weights(counts ? v : 1.0f, this->bins);
    RatioVoxel<4> r{counts ? w.bin[0] : -1, counts ? std::uint32_t(f) : 0u, {}};
    mass = counts ? mass : 0u;
    // Rounded, the third takes what is left: at least a sixth of the mass but for the rounding, so
    // never less than nothing.
    for (int k = 0; k < 4; ++k)
      r.mass[k] = std::uint32_t((std::uint64_t(mass) * w.weight[k] + 32768) >> 16);
    r.mass[2] = mass - r.mass[0] - r.mass[1] - r.mass[3];
    return r;
  }
};

/// Calls f with the voxel functor of a shape.
template <class F>
void with_ratio_voxel(const RatioShape& shape, const RatioInput& input, F&& f) {
  const DisplacedPoint point{input.map, {input.u.data, input.extent}};
  const BorderWeight weight = BorderWeight::of(shape);
  const auto call = [&]<class Voxel>(Voxel*) {
    f(Voxel{{point, input.moving, input.fixed, weight, shape.bins}});
  };
  if (shape.direction == RatioDirection::fixed_given_moving)
    shape.nearest ? call(static_cast<MovingBinVoxel<true>*>(nullptr))
                  : call(static_cast<MovingBinVoxel<false>*>(nullptr));
  else if (shape.weighted())
    shape.nearest ? call(static_cast<FixedBinVoxel<true, true>*>(nullptr))
                  : call(static_cast<FixedBinVoxel<false, true>*>(nullptr));
  else
    shape.nearest ? call(static_cast<FixedBinVoxel<true, false>*>(nullptr))
                  : call(static_cast<FixedBinVoxel<false, false>*>(nullptr));
}

}  // namespace freeflow
