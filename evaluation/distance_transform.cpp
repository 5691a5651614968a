#include <freeflow/evaluation/distance_transform.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace freeflow {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Along x the nearest mark is found by walking from both ends.
void distance_in_row(const std::uint8_t* marked, int length, double side, double* squared) {
  double voxels = infinity;
  for (int x = 0; x < length; ++x) {
    voxels = marked[x] ? 0 : voxels + 1;
    squared[x] = voxels;
  }
  voxels = infinity;
  for (int x = length - 1; x >= 0; --x) {
    voxels = marked[x] ? 0 : voxels + 1;
    const double least = side * std::min(voxels, squared[x]);
    squared[x] = least * least;
  }
}

/// What the walk along one line needs besides the line; one for each thread.
struct Envelope {
  explicit Envelope(int longest) : height(longest), begin(longest), site(longest) {}

  std::vector<double> height;  ///< the line as it was
  std::vector<double> begin;   ///< where each parabola of the envelope begins
  std::vector<int> site;       ///< whose parabola it is

  /// line[q] = min over v of (side (q - v))^2 + line[v], in place.
  void along(double* line, std::size_t step, int length, double side) {
    int last = -1;
    for (int q = 0; q < length; ++q) {
      height[q] = line[q * step];
      if (height[q] == infinity) continue;
      double start = -infinity;
      for (; last >= 0; --last) {
        const double p = side * q, v = side * site[last];
        start = (height[q] + p * p - (height[site[last]] + v * v)) / (2 * (p - v));
        if (start > begin[last]) break;  // the first begins at -infinity and stays
      }
      ++last;
      site[last] = q;
      begin[last] = start;
    }
    if (last < 0) return;
    for (int q = 0, k = 0; q < length; ++q) {
      while (k < last && begin[k + 1] < side * q) ++k;
      const double away = side * (q - site[k]);
      line[q * step] = away * away + height[site[k]];
    }
  }
};

}  // namespace

void squared_distance(const std::vector<std::uint8_t>& marked, Extent box,
                      const Eigen::Vector3d& spacing, int threads, std::vector<double>& squared) {
  squared.resize(box.count());
  const std::size_t slice = std::size_t(box.x) * box.y;
  std::vector<Envelope> envelopes(std::size_t(threads), Envelope(std::max(box.y, box.z)));
#pragma omp parallel num_threads(threads)
  {
    Envelope& envelope = envelopes[std::size_t(omp_get_thread_num())];
#pragma omp for
    for (int z = 0; z < box.z; ++z) {
      for (int y = 0; y < box.y; ++y)
        distance_in_row(&marked[box.offset(0, y, z)], box.x, spacing.x(),
                        &squared[box.offset(0, y, z)]);
      for (int x = 0; x < box.x; ++x)
        envelope.along(&squared[box.offset(x, 0, z)], std::size_t(box.x), box.y, spacing.y());
    }
#pragma omp for
    for (int y = 0; y < box.y; ++y)
      for (int x = 0; x < box.x; ++x)
        envelope.along(&squared[box.offset(x, y, 0)], slice, box.z, spacing.z());
  }
}

}  // namespace freeflow
