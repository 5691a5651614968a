#include <experiments/atlas/known_velocities.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace freeflow::experiments {

namespace {

constexpr int blobs = 60;
constexpr double narrowest = 0.08, widest = 0.2;  // sigma, in parts of the object's side

/// A number in (0, 1), the same everywhere (splitmix64).
double hashed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15 + index * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return (double((x ^ x >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

}  // namespace

KnownVelocities::KnownVelocities(const Geometry& grid, const std::vector<float>& marked,
                                 int subjects, double amplitude_mm, std::uint64_t seed, int threads)
    : grid_(grid), threads_(threads) {
  std::array<int, 3> low{grid.extent.x, grid.extent.y, grid.extent.z}, high{0, 0, 0};
  const Extent n = grid.extent;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x)
        if (marked[n.offset(x, y, z)] > 0.5f)
          for (std::size_t a = 0; a < 3; ++a) {
            const int i = a == 0 ? x : a == 1 ? y : z;
            low[a] = std::min(low[a], i);
            high[a] = std::max(high[a], i);
          }
  double side_mm = 0;
  for (std::size_t a = 0; a < 3; ++a)
    side_mm += (high[a] - low[a] + 1) * grid.spacing[Eigen::Index(a)] / 3;
  std::uint64_t drawn = 0;
  const auto draw = [&] { return hashed(seed, ++drawn); };
  for (int b = 0; b < blobs; ++b) {
    Blob blob;
    for (int a = 0; a < 3; ++a)
      blob.centre[a] = low[std::size_t(a)] + draw() * (high[std::size_t(a)] - low[std::size_t(a)]);
    blob.sigma =
        (narrowest + draw() * (widest - narrowest)) * side_mm * grid.spacing.cwiseInverse();
    blobs_.push_back(blob);
  }
  coefficients_.assign(std::size_t(subjects), std::vector<Eigen::Vector3d>(blobs));
  for (auto& of_subject : coefficients_)
    for (Eigen::Vector3d& c : of_subject)
      c = Eigen::Vector3d(draw() - 0.5, draw() - 0.5, draw() - 0.5)
              .cwiseProduct(grid.spacing.cwiseInverse());
  for (std::size_t b = 0; b < blobs; ++b) {
    Eigen::Vector3d mean = Eigen::Vector3d::Zero();
    for (const auto& of_subject : coefficients_) mean += of_subject[b] / subjects;
    for (auto& of_subject : coefficients_) of_subject[b] -= mean;
  }
  double largest = 0;
  for (int s = 0; s < subjects; ++s)
    for (int z = 2; z < n.z; z += 8)
      for (int y = 2; y < n.y; y += 8)
        for (int x = 2; x < n.x; x += 8)
          largest = std::max(
              largest, at(s, {double(x), double(y), double(z)}).cwiseProduct(grid.spacing).norm());
  if (largest == 0) return;  // one subject alone
  for (auto& of_subject : coefficients_)
    for (Eigen::Vector3d& c : of_subject) c *= amplitude_mm / largest;
}

Eigen::Vector3d KnownVelocities::at(int subject, const Eigen::Vector3d& voxel) const {
  Eigen::Vector3d v = Eigen::Vector3d::Zero();
  for (std::size_t b = 0; b < blobs_.size(); ++b) {
    const Eigen::Vector3d d = (voxel - blobs_[b].centre).cwiseQuotient(blobs_[b].sigma);
    v += std::exp(-0.5 * d.squaredNorm()) * coefficients_[std::size_t(subject)][b];
  }
  return v;
}

DisplacementField KnownVelocities::of(Context& ctx, int subject) const {
  const Extent n = grid_.extent;
  const std::size_t voxels = n.count();
  const int sizes[3] = {n.x, n.y, n.z};
  std::vector<float> table[3];  // [axis][blob][index]
  for (int axis = 0; axis < 3; ++axis)
    for (const Blob& blob : blobs_)
      for (int i = 0; i < sizes[axis]; ++i) {
        const double d = (i - blob.centre[axis]) / blob.sigma[axis];
        table[axis].push_back(float(std::exp(-0.5 * d * d)));
      }
  std::vector<float> planes(3 * voxels);
#pragma omp parallel for num_threads(threads_)
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y) {
      const std::size_t row = n.offset(0, y, z);
      for (std::size_t b = 0; b < blobs_.size(); ++b) {
        const float yz = table[1][b * std::size_t(n.y) + std::size_t(y)] *
                         table[2][b * std::size_t(n.z) + std::size_t(z)];
        if (yz < 1e-6f) continue;
        const float* const along = table[0].data() + b * std::size_t(n.x);
        for (std::size_t c = 0; c < 3; ++c) {
          const float k = yz * float(coefficients_[std::size_t(subject)][b][Eigen::Index(c)]);
          float* const out = planes.data() + c * voxels + row;
          for (int x = 0; x < n.x; ++x) out[x] += k * along[x];
        }
      }
    }
  return DisplacementField(ctx, grid_, planes);
}

}  // namespace freeflow::experiments
