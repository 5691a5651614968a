#include <freeflow/transform/affine_split.h>

#include <omp.h>

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

namespace freeflow {

namespace {

/// Calls f(index, number of the voxel) for all voxels of a slice.
template <class F>
void for_each_of_slice(Extent n, int z, F&& f) {
  std::size_t voxel = n.offset(0, 0, z);
  for (int y = 0; y < n.y; ++y)
    for (int x = 0; x < n.x; ++x, ++voxel) f(Eigen::Vector3d(x, y, z), voxel);
}

int threads_of(int asked) { return asked > 0 ? asked : omp_get_max_threads(); }

Eigen::Vector3d vector_at(std::span<const float> planes, std::size_t count, std::size_t voxel) {
  return {planes[voxel], planes[count + voxel], planes[2 * count + voxel]};
}

}  // namespace

// The axes of a grid do not depend on each other, so that each is fitted for itself.
Eigen::Affine3d affine_fit(Extent n, std::span<const float> planes, int threads) {
  struct Sums {
    Eigen::Vector3d vectors = Eigen::Vector3d::Zero();
    Eigen::Matrix3d products = Eigen::Matrix3d::Zero();
  };
  const std::size_t count = n.count();
  const Eigen::Vector3d middle = 0.5 * Eigen::Vector3d(n.x - 1, n.y - 1, n.z - 1);
  std::vector<Sums> of_slice(std::size_t(n.z));
#pragma omp parallel for schedule(static) num_threads(threads_of(threads))
  for (int z = 0; z < n.z; ++z) {
    Sums sums;
    for_each_of_slice(n, z, [&](const Eigen::Vector3d& index, std::size_t voxel) {
      const Eigen::Vector3d u = vector_at(planes, count, voxel);
      sums.vectors += u;
      sums.products += u * (index - middle).transpose();
    });
    of_slice[std::size_t(z)] = sums;
  }
  Sums all;
  for (const Sums& sums : of_slice) {
    all.vectors += sums.vectors;
    all.products += sums.products;
  }
  Eigen::Affine3d fit;
  for (int axis = 0; axis < 3; ++axis) {
    // The sum of (i - middle)^2 along the axis, for every line of it.
    const double m = n[axis], squares = double(count) * (m * m - 1) / 12;
    fit.linear().col(axis) = all.products.col(axis) / std::max(squares, 1e-9);
  }
  fit.translation() = all.vectors / double(count) - fit.linear() * middle;
  return fit;
}

bool holds_affine(const Geometry& grid, const Eigen::Affine3d& fit) {
  const Extent n = grid.extent;
  const Eigen::Vector3d size(n.x, n.y, n.z), middle = 0.5 * (size.array() - 1);
  const Eigen::Vector3d variance = (size.array().square() - 1) / 12;  // of the index
  const Eigen::DiagonalMatrix<double, 3> to_mm(grid.spacing);
  const double of_grid = (to_mm * variance.cwiseSqrt()).squaredNorm(),
               of_vectors =
                   (to_mm * (fit * middle)).squaredNorm() +
                   (to_mm * fit.linear() * variance.cwiseSqrt().asDiagonal()).squaredNorm();
  const double volume = std::abs((Eigen::Matrix3d::Identity() + fit.linear()).determinant());
  return of_vectors > 0.3 * 0.3 * of_grid && volume > 1e-6 && std::isfinite(volume);
}

std::optional<AffineSplit> split_affine(const Geometry& grid, std::span<const float> planes,
                                        int threads) {
  const Eigen::Affine3d fit = affine_fit(grid.extent, planes, threads);
  if (!holds_affine(grid, fit)) return {};
  Eigen::Affine3d affine = fit;
  affine.linear() += Eigen::Matrix3d::Identity();
  const Eigen::Affine3d back = affine.inverse();
  AffineSplit split{std::vector<float>(planes.size()),
                    grid.index_to_world() * affine * grid.world_to_index()};
  const std::size_t count = grid.extent.count();
#pragma omp parallel for schedule(static) num_threads(threads_of(threads))
  for (int z = 0; z < grid.extent.z; ++z)
    for_each_of_slice(grid.extent, z, [&](const Eigen::Vector3d& index, std::size_t voxel) {
      const Eigen::Vector3d v = back * (index + vector_at(planes, count, voxel)) - index;
      for (int c = 0; c < 3; ++c) split.planes[std::size_t(c) * count + voxel] = float(v[c]);
    });
  return split;
}

}  // namespace freeflow
