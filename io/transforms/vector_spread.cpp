#include <freeflow/io/transforms/vector_spread.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace freeflow {

Spread spread_of(const Extent& extent, const std::vector<float>& planes,
                 const Eigen::Affine3d& coordinates) {
  const std::size_t count = extent.count();
  // An odd stride that is no multiple of a side visits all rows and columns; 20 000 samples decide.
  std::size_t stride = std::max<std::size_t>(count / 20000, 1) | 1;
  while (stride > 1 && extent.x > 1 && stride % std::size_t(extent.x) == 0) stride += 2;
  // Of each component of the vectors, the vectors less the coordinates, and the coordinates.
  std::array<double, 9> sum{}, squares{};
  double samples = 0;
  for (std::size_t voxel = 0; voxel < count; voxel += stride) {
    const std::size_t row = voxel / std::size_t(extent.x), z = row / std::size_t(extent.y);
    const Eigen::Vector3d at =
        coordinates * Eigen::Vector3d(double(voxel % std::size_t(extent.x)),
                                      double(row % std::size_t(extent.y)), double(z));
    const std::array<float, 3> vector{planes[voxel], planes[count + voxel],
                                      planes[2 * count + voxel]};
    if (!std::isfinite(vector[0]) || !std::isfinite(vector[1]) || !std::isfinite(vector[2]))
      continue;
    ++samples;
    for (std::size_t c = 0; c < 3; ++c) {
      const double coordinate = at[Eigen::Index(c)];
      const std::array<double, 3> values{vector[c], vector[c] - coordinate, coordinate};
      for (std::size_t kind = 0; kind < 3; ++kind) {
        sum[3 * kind + c] += values[kind];
        squares[3 * kind + c] += values[kind] * values[kind];
      }
    }
  }
  if (samples < 2) return {};
  const auto deviation = [&](std::size_t kind) {
    double variance = 0;
    for (std::size_t i = 3 * kind; i < 3 * kind + 3; ++i)
      variance += std::max(squares[i] / samples - sum[i] / samples * (sum[i] / samples), 0.0);
    return std::sqrt(variance);
  };
  const double of_grid = deviation(2);
  if (!(of_grid > 0)) return {};
  return {deviation(0) / of_grid, deviation(1) / of_grid};
}

}  // namespace freeflow
