#include <freeflow/registration/linear/overlap_guard.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/spread_stride.h>

namespace freeflow {

OverlapGuard::OverlapGuard(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving)
    : moving_(moving.geometry()) {
  constexpr std::size_t most_points = 1024;
  const std::vector<float> f = fixed.to_host(ctx), m = moving.to_host(ctx);
  const Eigen::Affine3d to_world = fixed.geometry().index_to_world();
  const Extent n = fixed.extent();
  std::vector<std::size_t> of_value;
  Extent first = n, last{0, 0, 0};  // of the box of those that have a value
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (!std::isfinite(f[i])) continue;
    of_value.push_back(i);
    const int x = int(i % n.x), y = int(i / n.x % n.y);
    first = {std::min(first.x, x), std::min(first.y, y), 0};
    last = {std::max(last.x, x), std::max(last.y, y), 0};
  }
  // In no step with the rows of the grid, nor with those of a box within it.
  const Extent rows{n.x * std::max(1, last.x - first.x + 1),
                    n.y * std::max(1, last.y - first.y + 1), 1};
  const std::size_t stride = spread_stride(rows, of_value.size(), most_points);
  for (std::size_t k = 0; k < of_value.size(); k += stride) {
    const std::size_t i = of_value[k], x = i % n.x, y = i / n.x % n.y, z = i / n.x / n.y;
    const Eigen::Vector3d p = to_world * Eigen::Vector3d(double(x), double(y), double(z));
    for (int axis = 0; axis < 3; ++axis) points_[axis].push_back(p[axis]);
  }
  for (float v : m) valid_.push_back(std::isfinite(v));
  const auto measured = double(std::count(valid_.begin(), valid_.end(), 1));
  moving_is_masked_ = measured < 0.5 * double(valid_.size());
  const double voxels = moving_.spacing.prod() / fixed.geometry().spacing.prod();
  measured_ratio_ = of_value.empty() ? 0 : measured * voxels / double(of_value.size());
  valid_.push_back(0);
}

double OverlapGuard::overlap(const Eigen::Affine3d& world) const {
  const int count = int(points_[0].size());
  const std::size_t outside = valid_.size() - 1;
  if (count == 0) return 0;
  const Eigen::Matrix<double, 3, 4> m = (moving_.world_to_index() * world).matrix().topRows<3>();
  const Extent n = moving_.extent;
  const double *px = points_[0].data(), *py = points_[1].data(), *pz = points_[2].data();
  // a search asks thousands of times: the first loop is to run in vector registers
  constexpr int at_once = 256;
  std::size_t voxel[at_once];
  int inside = 0;
  for (int begin = 0; begin < count; begin += at_once) {
    const int end = std::min(begin + at_once, count);
#pragma GCC ivdep
    for (int i = begin; i < end; ++i) {
      const double x = m(0, 0) * px[i] + m(0, 1) * py[i] + m(0, 2) * pz[i] + m(0, 3) + 0.5;
      const double y = m(1, 0) * px[i] + m(1, 1) * py[i] + m(1, 2) * pz[i] + m(1, 3) + 0.5;
      const double z = m(2, 0) * px[i] + m(2, 1) * py[i] + m(2, 2) * pz[i] + m(2, 3) + 0.5;
      const bool in = (x >= 0) & (y >= 0) & (z >= 0) & (x < n.x) & (y < n.y) & (z < n.z);
      voxel[i - begin] = in ? n.offset(int(in ? x : 0), int(in ? y : 0), int(in ? z : 0)) : outside;
    }
    for (int i = begin; i < end; ++i) inside += valid_[voxel[i - begin]];
  }
  return double(inside) / double(count);
}

}  // namespace freeflow
