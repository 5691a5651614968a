#include <freeflow/registration/overlap_guard.h>

#include <cmath>

namespace freeflow {

OverlapGuard::OverlapGuard(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) : moving_(moving.geometry()) {
  constexpr std::size_t most_points = 1024;
  const std::vector<float> f = fixed.to_host(ctx), m = moving.to_host(ctx);
  const Eigen::Affine3d to_world = fixed.geometry().index_to_world();
  const Extent n = fixed.extent();
  // An odd stride, so that points do not line up in planes of the grid.
  const std::size_t stride = (f.size() / most_points) | 1;
  for (std::size_t i = 0; i < f.size(); i += stride)
    if (std::isfinite(f[i]))
      points_.push_back(to_world * Eigen::Vector3d(double(i % n.x), double(i / n.x % n.y), double(i / (std::size_t(n.x) * n.y))));
  for (float v : m) valid_.push_back(std::isfinite(v));
}

double OverlapGuard::overlap(const Eigen::Affine3d& world) const {
  if (points_.empty()) return 0;
  const Eigen::Affine3d to_index = moving_.world_to_index() * world;
  const Extent n = moving_.extent;
  std::size_t inside = 0;
  for (const Eigen::Vector3d& point : points_) {
    const Eigen::Vector3d p = to_index * point + Eigen::Vector3d::Constant(0.5);
    if (!(p.minCoeff() >= 0 && p.x() < n.x && p.y() < n.y && p.z() < n.z)) continue;
    inside += valid_[(std::size_t(p.z()) * n.y + std::size_t(p.y())) * n.x + std::size_t(p.x())];
  }
  return double(inside) / double(points_.size());
}

}  // namespace freeflow
