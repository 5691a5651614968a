#include <freeflow/registration/linear/linear_levels.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <freeflow/registration/levels/outliers.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

ContentExtent content_extent(Context& ctx, const Volume<float>& image, const char* what) {
  std::vector<float> voxels = image.to_host(ctx);
  cut_outliers(voxels);  // one of which would outweigh all else
  float low = std::numeric_limits<float>::infinity();
  for (float v : voxels)
    if (std::isfinite(v)) low = std::min(low, v);
  if (!std::isfinite(low))
    throw RegistrationError(std::string(what) + " has no finite voxel (inside its mask)");
  const Geometry& g = image.geometry();
  const Eigen::Affine3d to_world = g.index_to_world();
  const Extent n = g.extent;
  const auto sum_over = [&](const auto& term) {
    std::size_t i = 0;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x, ++i)
          if (std::isfinite(voxels[i])) term(Eigen::Vector3d(x, y, z), double(voxels[i]) - low);
  };
  double mass = 0, second = 0, count = 0;
  Eigen::Vector3d first = Eigen::Vector3d::Zero();
  sum_over([&](const Eigen::Vector3d& x, double w) {
    ++count;
    mass += w;
    first += w * x;
  });
  const double volume = count * g.spacing.prod();
  if (!(mass > 0)) {  // so it is in a rehearsal of the memory
    const double of_grid = double(n.count()) * g.spacing.prod();
    return {g.center(), 0.25 * std::cbrt(of_grid), volume};
  }
  const Eigen::Vector3d middle = first / mass;
  sum_over([&](const Eigen::Vector3d& x, double w) {
    second += w * (to_world.linear() * (x - middle)).squaredNorm();
  });
  return {to_world * middle, std::max(std::sqrt(5.0 / 3.0 * second / mass), g.spacing.minCoeff()),
          volume};
}

ContentExtent content_at_a_glance(Context& ctx, PreparedImage& image, const char* what) {
  const Geometry& g = image.whole_geometry();  // so that a box of it looks alike
  const Eigen::Vector3d sides =
      g.spacing.cwiseProduct(Eigen::Vector3d(g.extent.x, g.extent.y, g.extent.z));
  const Factors look = factors_towards(image.geometry(), sides.maxCoeff() / 40.0);
  return content_extent(ctx, image.level(ctx, {look}), what);
}

namespace {

/// How far an image has been decimated.
struct Decimation {
  Factors factors{1, 1, 1};
  PreparedImage::Steps steps;

  /// Goes on to factors at least as coarse.
  void go_to(const Factors& target) {
    Factors ratio;
    for (int a = 0; a < 3; ++a) ratio[a] = target[a] / factors[a];
    if (ratio != Factors{1, 1, 1}) steps.push_back(ratio);
    factors = target;
  }
};

Factors at_least(const Factors& a, const Factors& b) {
  return {std::max(a[0], b[0]), std::max(a[1], b[1]), std::max(a[2], b[2])};
}

}  // namespace

LinearLevels::LinearLevels(Context& ctx, PreparedImage& fixed, PreparedImage& moving, int levels,
                           const Eigen::Affine3d& initial) {
  constexpr double head_radius_mm = 80, coarsest_mm = 8;
  const double radius = content_at_a_glance(ctx, fixed, "the fixed image").radius_mm;
  unit_mm_ = std::exp2(std::round(std::log2(radius / head_radius_mm)));
  const double moving_mm = std::cbrt(std::abs(initial.linear().determinant()));
  Decimation f, m;
  for (int l = levels - 1; l >= 0; --l) {
    const double target = coarsest_mm * unit_mm_ / double(1 << l);
    const Factors to_f = at_least(f.factors, factors_towards(fixed.geometry(), target));
    const Factors to_m =
        at_least(m.factors, factors_towards(moving.geometry(), moving_mm * target));
    if (!levels_.empty() && to_f == f.factors && to_m == m.factors) {
      spacing_.front() = target;  // as coarse as the images allow: one level does for both
      continue;
    }
    f.go_to(to_f);
    m.go_to(to_m);
    const Volume<float>&of_fixed = fixed.level(ctx, f.steps),
          &of_moving = moving.level(ctx, m.steps);
    const PointMap identity =
        index_map(of_fixed.geometry(), Eigen::Affine3d::Identity(), of_moving.geometry());
    levels_.push_front({of_fixed, of_moving, f.steps, m.steps,
                        channel_pairs(ctx, fixed, f.steps, moving, m.steps, identity)});
    spacing_.insert(spacing_.begin(), target);
  }
  fixed_content_ = content_extent(ctx, levels_.front().fixed, "the fixed image");
  moving_content_ = content_extent(ctx, levels_.front().moving, "the moving image");
}

}  // namespace freeflow
