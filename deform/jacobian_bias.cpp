#include <freeflow/deform/jacobian_bias.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/deform/field_operations.h>

namespace freeflow {

namespace {

/// Number, sum, and sums of squares and cubes.
struct Moments {
  double n = 0, s1 = 0, s2 = 0, s3 = 0;
  void add(double v) { n += 1, s1 += v, s2 += v * v, s3 += v * v * v; }
  Moments plus(const Moments& o, double sign) const {
    return {n + sign * o.n, s1 + sign * o.s1, s2 + sign * o.s2, s3 + sign * o.s3};
  }
  double mean() const { return s1 / n; }
  double variance() const { return std::max(0.0, s2 / n - mean() * mean()); }
  double skewness() const {
    const double m = mean(), v = variance();
    return v > 0 ? (s3 / n - 3 * m * s2 / n + 2 * m * m * m) / std::pow(v, 1.5) : 0.0;
  }
};

void for_each_log(Context& ctx, const DisplacementField& u, int margin,
                  const std::function<void(int, int, int, double)>& use) {
  require(margin >= 0, "the margin must not be negative");
  const Extent n = u.extent();
  const std::vector<float> jacobian = jacobian_determinant(ctx, u).to_host(ctx);
  for (int z = margin; z < n.z - margin; ++z)
    for (int y = margin; y < n.y - margin; ++y)
      for (int x = margin; x < n.x - margin; ++x) {
        const double j = jacobian[(std::size_t(z) * n.y + y) * n.x + x];
        require(j > 0, "the deformation folds, so it has no log-Jacobian");
        use(x - margin, y - margin, z - margin, std::log(j));
      }
}

}  // namespace

JacobianBias jacobian_bias(Context& ctx, const DisplacementField& u, int block, int margin) {
  require(block > 0 && margin >= 0,
          "blocks have at least one voxel a side, and the margin must not be negative");
  const Extent n = u.extent();
  const auto blocks = [&](int size) { return (size - 2 * margin) / block; };
  const int bx = blocks(n.x), by = blocks(n.y), bz = blocks(n.z);
  require(bx > 0 && by > 0 && bz > 0 && bx * by * bz >= 8,
          "the field is too small for sampling errors: fewer than eight blocks fit");
  std::vector<Moments> of_block(std::size_t(bx) * by * bz);
  for_each_log(ctx, u, margin, [&](int x, int y, int z, double v) {
    if (x / block < bx && y / block < by && z / block < bz)
      of_block[(std::size_t(z / block) * by + y / block) * bx + x / block].add(v);
  });
  Moments all;
  for (const Moments& m : of_block) all = all.plus(m, 1);
  JacobianBias bias{all.mean(), std::sqrt(all.variance()), all.skewness(), 0, 0};
  const double count = double(of_block.size());
  for (const Moments& m : of_block) {
    const Moments rest = all.plus(m, -1);
    bias.mean_error += std::pow(rest.mean() - bias.mean, 2) * (count - 1) / count;
    bias.skewness_error += std::pow(rest.skewness() - bias.skewness, 2) * (count - 1) / count;
  }
  bias.mean_error = std::sqrt(bias.mean_error);
  bias.skewness_error = std::sqrt(bias.skewness_error);
  return bias;
}

double log_jacobian_correlation(Context& ctx, const DisplacementField& u,
                                const DisplacementField& v, int margin) {
  require(u.extent() == v.extent(), "the two fields differ in size");
  std::vector<double> a;
  for_each_log(ctx, u, margin, [&](int, int, int, double value) { a.push_back(value); });
  Moments of_a, of_b;
  double products = 0;
  std::size_t i = 0;
  for_each_log(ctx, v, margin, [&](int, int, int, double value) {
    of_a.add(a[i]);
    of_b.add(value);
    products += a[i++] * value;
  });
  const double spread = std::sqrt(of_a.variance() * of_b.variance());
  return spread > 0 ? (products / of_a.n - of_a.mean() * of_b.mean()) / spread : 0.0;
}

}  // namespace freeflow
