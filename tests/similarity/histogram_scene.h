// What tests of joint histograms share: images, a warp between them, counts and their oracles.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include "reference/joint_density.h"
#include "support/chosen_schemes.h"
#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow::test {

/// Of two test files.
class Histogram : public OnDevice {};

inline constexpr std::uint16_t no_bin = SampledPair::no_bin;
using Counts = std::vector<std::uint64_t>;

/// Two images on the host, the moving one sampled already.
struct Pair {
  std::vector<std::uint16_t> fixed;
  std::vector<float> moving;
};

inline Pair random_pair(std::size_t n, int fixed_bins, int moving_bins, unsigned seed) {
  Pair p;
  for (float v : random_values(n, seed, 0, float(fixed_bins)))
    p.fixed.push_back(std::uint16_t(std::min(int(v), fixed_bins - 1)));
  p.moving = random_values(n, seed + 1, 0, float(moving_bins) - 0.51f);
  for (std::size_t i = 0; i < n; i += 37) p.fixed[i] = no_bin;
  for (std::size_t i = 5; i < n; i += 41) p.moving[i] = NAN;
  return p;
}

inline Counts count(Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                    const HistogramInput& input, std::size_t n) {
  Buffer<std::uint64_t> histogram(ctx, shape.bins());
  JointHistogram(ctx, scheme, shape, n).count(ctx, input, histogram.data());
  return histogram.to_host(ctx);
}

inline Counts count(Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                    const Pair& pair) {
  const Buffer<std::uint16_t> fixed(ctx, pair.fixed);
  const Buffer<float> moving(ctx, pair.moving);
  return count(ctx, scheme, shape, SampledPair{fixed.data(), moving.data(), pair.fixed.size()},
               pair.fixed.size());
}

inline Counts hard_oracle(const HistogramShape& shape, const Pair& pair) {
  Counts h(shape.bins());
  for (std::size_t i = 0; i < pair.fixed.size(); ++i)
    if (pair.fixed[i] != no_bin && pair.moving[i] == pair.moving[i])
      h[std::size_t(pair.fixed[i]) * shape.moving_bins +
        std::size_t(std::floor(pair.moving[i] + 0.5f))] += 1;
  return h;
}

inline std::uint64_t mass(const Counts& h) {
  std::uint64_t sum = 0;
  for (std::uint64_t m : h) sum += m;
  return sum;
}

/// NMI of fixed-point masses, in double.
inline double nmi_of(const Counts& h, const HistogramShape& shape) {
  reference::JointDensity p(shape.fixed_bins, shape.moving_bins);
  for (std::size_t i = 0; i < h.size(); ++i)
    p.add(int(i / shape.moving_bins), int(i % shape.moving_bins), double(h[i]));
  return p.entropies().nmi();
}

inline std::vector<HistogramSchemeInfo> schemes() { return chosen(histogram_schemes()); }

inline bool takes(const HistogramSchemeInfo& info, Estimator estimator) {
  return estimator == Estimator::hard || info.takes_weights;
}

/// A fixed image, a moving one on another grid, and where they meet.
struct Warp {
  Geometry fixed = plain_geometry({45, 21, 13}), moving = plain_geometry({40, 25, 11});
  std::vector<std::uint16_t> bins;
  std::vector<float> image;
  PointMap map;
  std::vector<float> planes;

  Warp(int fixed_bins, int moving_bins) {
    map.m[0][1] = 0.1f, map.m[1][0] = -0.07f, map.m[0][3] = -1.3f, map.m[1][3] = 2.2f,
    map.m[2][3] = -0.6f;
    bins = random_pair(fixed.extent.count(), fixed_bins, 8, 5).fixed;
    const float top = float(moving_bins - 2);
    image = voxelwise(moving.extent, [&](int x, int y, int z) {
      return 1 + (top - 1) * (0.5 + 0.2 * texture(1.5 * Eigen::Vector3d(x, y, z)));
    });
    for (float& v : image) v = std::clamp(v, 1.0f, top);
    for (std::size_t i = 100; i < image.size(); i += 611) image[i] = NAN;
    planes = field_planes(fixed.extent, [](int x, int y, int z) { return wave(x, y, z, 1.3); });
  }

  struct OnDevice {
    Volume<std::uint16_t> fixed;
    Volume<float> moving, coefficients;
    DisplacementField u;
    PointMap map;
    WarpedPair pair(bool cubic, bool displaced) const {
      return {fixed.view(), moving.view(), map,
              displaced ? u.view() : FieldView<const float>{nullptr, fixed.extent()},
              cubic ? coefficients.view() : VolumeView<const float>{}};
    }
  };
  OnDevice on(Context& ctx) const {
    OnDevice d{
        {ctx, fixed, bins}, {ctx, moving, image}, {ctx, moving, image}, {ctx, fixed, planes}, map};
    bspline_prefilter(ctx, d.coefficients.view());
    return d;
  }
  Eigen::Vector3d position(std::size_t i, bool displaced) const {
    const std::size_t n = bins.size();
    Eigen::Vector3d q(double(i % 45), double(i / 45 % 21), double(i / 945)), p;
    if (displaced) q += Eigen::Vector3d(planes[i], planes[i + n], planes[i + 2 * n]);
    for (int r = 0; r < 3; ++r)
      p[r] = map.m[r][0] * q.x() + map.m[r][1] * q.y() + map.m[r][2] * q.z() + map.m[r][3];
    return p;
  }
};

}  // namespace freeflow::test
