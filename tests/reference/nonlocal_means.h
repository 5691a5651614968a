// Nonlocal means of a surface in double precision, straight from eq. 14 to 16 of Lee et al. 2012:
// every element against every other.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <freeflow/core/geometry.h>

namespace freeflow::reference {

struct NonlocalMeans {
  double band = 3, c1 = 0, c2 = 15;  // in mean sides; c1 0: none
  bool keep_volume = true;
  double noise = 0;  // mean sides
  int patch = 5, neighbours = 96, iterations = 10;
};

/// The noise of a distance, in its unit: the median of the second differences along x, y and z at
/// once where |distance| <= within.
inline double distance_noise(const std::vector<double>& d, Extent n, double within) {
  const auto difference = [n](const std::vector<double>& v, int dx, int dy, int dz) {
    std::vector<double> out(v.size(), std::nan(""));
    for (int z = dz; z < n.z - dz; ++z)
      for (int y = dy; y < n.y - dy; ++y)
        for (int x = dx; x < n.x - dx; ++x) {
          const std::size_t i = n.offset(x, y, z);
          out[i] =
              v[n.offset(x - dx, y - dy, z - dz)] - 2 * v[i] + v[n.offset(x + dx, y + dy, z + dz)];
        }
    return out;
  };
  const std::vector<double> all = difference(difference(difference(d, 1, 0, 0), 0, 1, 0), 0, 0, 1);
  std::vector<double> sizes;
  for (std::size_t i = 0; i < d.size(); ++i)
    if (std::abs(d[i]) <= within && !std::isnan(all[i])) sizes.push_back(std::abs(all[i]));
  std::sort(sizes.begin(), sizes.end());
  return sizes.empty() ? 0 : sizes[sizes.size() / 2] / 0.67448975 / std::pow(6, 1.5);
}

/// phi (any unit) after the steps, before it becomes a distance again.
inline std::vector<double> nonlocal_means(const std::vector<double>& distance, const Geometry& g,
                                          const NonlocalMeans& o) {
  const Extent n = g.extent;
  const double unit = std::cbrt(g.spacing.prod());
  const double delta = std::max(o.band, g.spacing.maxCoeff() / unit), limit = delta + o.patch;
  std::vector<int> band;
  for (int i = 0; i < int(n.count()); ++i)
    if (std::abs(distance[i] / unit) <= delta) band.push_back(i);
  const auto position = [&](int i) {
    return Eigen::Vector3d(i % n.x, i / n.x % n.y, i / n.x / n.y);
  };
  std::vector<std::vector<double>> patches;
  for (const int i : band) {
    std::vector<double> p;
    const int half = o.patch / 2, x = i % n.x, y = i / n.x % n.y, z = i / n.x / n.y;
    for (int dz = -half; dz <= half; ++dz)
      for (int dy = -half; dy <= half; ++dy)
        for (int dx = -half; dx <= half; ++dx) {
          const int u = std::clamp(x + dx, 0, n.x - 1), v = std::clamp(y + dy, 0, n.y - 1),
                    w = std::clamp(z + dz, 0, n.z - 1);
          p.push_back(
              std::clamp(distance[(std::size_t(w) * n.y + v) * n.x + u] / unit, -limit, limit));
        }
    patches.push_back(p);
  }
  const int elements = int(band.size());
  std::vector<std::vector<std::pair<double, int>>> similar(elements);
  for (int i = 0; i < elements; ++i) {
    std::vector<std::pair<double, int>> all;
    for (int j = 0; j < elements; ++j) {
      double d = 0;
      for (std::size_t k = 0; k < patches[i].size(); ++k)
        d += (patches[i][k] - patches[j][k]) * (patches[i][k] - patches[j][k]);
      all.push_back({d, j});
    }
    std::partial_sort(all.begin(), all.begin() + o.neighbours, all.end());
    all.resize(o.neighbours);
    similar[i] = all;
  }
  double largest = 0;
  for (int i = 0; i < elements; ++i) {
    double sum = 0;
    for (auto& [d, j] : similar[i]) {
      const double apart =
          (position(band[i]) - position(band[j])).cwiseProduct(g.spacing / unit).squaredNorm();
      d = std::exp(-d / o.c2) * (o.c1 > 0 ? std::exp(-apart / o.c1) : 1);
      sum += d;
    }
    largest = std::max(largest, sum);
  }
  std::vector<double> phi;
  for (const int i : band) phi.push_back(distance[i]);
  for (int k = 0; k < o.iterations; ++k) {
    std::vector<double> next = phi;
    for (int i = 0; i < elements; ++i)
      for (const auto& [w, j] : similar[i]) next[i] += w / largest * (phi[j] - phi[i]);
    phi = next;
  }
  double change = 0, near = 0;
  for (int i = 0; i < elements; ++i)
    if (std::abs(distance[band[i]] / unit) <= 1) {
      change += phi[i] - distance[band[i]] * (1 + 3 * o.noise * o.noise);
      near += 1;
    }
  const double shift = o.keep_volume && near > 0 ? change / near : 0;
  std::vector<double> result = distance;
  for (int i = 0; i < elements; ++i) result[band[i]] = phi[i] - shift;
  return result;
}

}  // namespace freeflow::reference
