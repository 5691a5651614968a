#include <apps/report_page/planes.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/spread_stride.h>

namespace freeflow::apps {

namespace {

/// Which axis of the grid lies along left, posterior and superior: the assignment that fits best.
std::array<int, 3> axes_along_world(const Eigen::Matrix3d& direction) {
  std::array<int, 3> best{0, 1, 2}, tried = best;
  double most = -1;
  do {
    double sum = 0;
    for (int world = 0; world < 3; ++world)
      sum += std::abs(direction(world, tried[std::size_t(world)]));
    if (sum > most + 1e-9) {
      most = sum;
      best = tried;
    }
  } while (std::ranges::next_permutation(tried).found);
  return best;
}

/// An axis of the grid, forwards or backwards.
struct Side {
  int axis;
  bool backwards;
};

Side towards(const Geometry& g, const std::array<int, 3>& axes, int world, bool positive) {
  const int axis = axes[std::size_t(world)];
  return {axis, (g.direction(world, axis) > 0) != positive};
}

Plane make_plane(const char* name, const Geometry& fixed, const Side& right, const Side& down,
                 const Eigen::Vector3d& voxel) {
  Plane plane;
  plane.name = name;
  plane.across = 3 - right.axis - down.axis;
  const int slices = fixed.extent[plane.across];
  plane.slice = int(std::clamp(std::round(voxel[plane.across]), 0.0, double(slices - 1)));
  const int first = std::max(plane.slice - 1, 0), last = std::min(plane.slice + 1, slices - 1);
  plane.middle = plane.slice - first;
  Eigen::Vector3d corner;
  const Side sides[3] = {right, down, {plane.across, false}};
  for (int i = 0; i < 3; ++i) {
    const auto [axis, backwards] = sides[i];
    plane.slab.spacing[i] = fixed.spacing[axis];
    plane.slab.direction.col(i) = (backwards ? -1 : 1) * fixed.direction.col(axis);
    corner[axis] = backwards ? fixed.extent[axis] - 1 : 0;
  }
  corner[plane.across] = first;
  plane.slab.extent = {fixed.extent[right.axis], fixed.extent[down.axis], last - first + 1};
  plane.slab.origin = fixed.index_to_world() * corner;
  return plane;
}

constexpr std::size_t looked_at = 200000;

}  // namespace

Geometry Plane::grid() const {
  Geometry g = slab;
  g.extent.z = 1;
  g.origin += slab.direction.col(2) * slab.spacing.z() * middle;
  return g;
}

std::array<Plane, 3> planes_through(const Geometry& fixed, const Eigen::Vector3d& voxel) {
  const std::array<int, 3> axes = axes_along_world(fixed.direction);
  const Side left = towards(fixed, axes, 0, true), back = towards(fixed, axes, 1, true),
             feet = towards(fixed, axes, 2, false);
  return {make_plane("axial", fixed, left, back, voxel),
          make_plane("coronal", fixed, left, feet, voxel),
          make_plane("sagittal", fixed, back, feet, voxel)};
}

std::vector<float> values_on(const Plane& plane, const Geometry& grid,
                             const std::vector<float>& voxels) {
  const Eigen::Affine3d to_voxel = grid.index_to_world().inverse() * plane.slab.index_to_world();
  const auto index = [](double at) { return int(std::lround(at)); };
  std::vector<float> values;
  for (int y = 0; y < plane.slab.extent.y; ++y)
    for (int x = 0; x < plane.slab.extent.x; ++x) {
      const Eigen::Vector3d at = to_voxel * Eigen::Vector3d(x, y, plane.middle);
      values.push_back(voxels[grid.extent.offset(index(at.x()), index(at.y()), index(at.z()))]);
    }
  return values;
}

float Window::operator()(float value) const {
  return std::isnan(value) ? value : std::clamp((value - low) / (high - low), 0.f, 1.f);
}

Window robust_window(Extent extent, const std::vector<float>& voxels, const float* background) {
  std::vector<float> values;
  const std::size_t stride = spread_stride(extent, extent.count(), looked_at);
  for (std::size_t i = 0; i < voxels.size(); i += stride)
    if (std::isfinite(voxels[i]) && !(background && voxels[i] == *background))
      values.push_back(voxels[i]);
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto share = [&](double part) {
    return values[std::size_t(part * double(values.size() - 1))];
  };
  Window window{share(0.01), share(0.995)};
  if (window.high <= window.low) window = {values.front(), values.back()};  // a sparse image
  if (window.high <= window.low) window.high = std::nextafter(window.low + 1, INFINITY);
  return window;
}

Eigen::Vector3d middle_of_object(Extent extent, const std::vector<float>& voxels,
                                 const Window& window) {
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  double mass = 0;
  const std::size_t stride = spread_stride(extent, extent.count(), looked_at),
                    row = std::size_t(extent.x), slice = row * std::size_t(extent.y);
  for (std::size_t i = 0; i < voxels.size(); i += stride) {
    const float weight = window(voxels[i]);
    if (!(weight > 0)) continue;
    const std::size_t y = i % slice / row, z = i / slice;
    sum += double(weight) * Eigen::Vector3d(double(i % row), double(y), double(z));
    mass += double(weight);
  }
  if (mass > 0) return sum / mass;
  return {(extent.x - 1) / 2.0, (extent.y - 1) / 2.0, (extent.z - 1) / 2.0};
}

}  // namespace freeflow::apps
