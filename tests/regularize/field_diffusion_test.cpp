// The diffusion of the flows against sums in double, on every device.
#include <freeflow/regularize/field_diffusion.h>

#include <cmath>
#include <numeric>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class Diffusion : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Diffusion);

std::vector<float> diffused(Context& ctx, const Geometry& g, const std::vector<float>& u,
                            double share = 1) {
  DisplacementField in(ctx, g, u), out(ctx, g);
  FieldDiffusion(ctx, g).apply(ctx, in.view(), out.view(), share);
  return out.to_host(ctx);
}

/// Face by face: what passes between two voxels leaves the one and enters the other.
std::vector<double> expected(const Geometry& g, const std::vector<float>& u, double share) {
  const Extent n = g.extent;
  const std::size_t count = n.count(), stride[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
  const auto for_each_face = [&](auto f) {
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x)
          for (int a = 0; a < 3; ++a)
            if ((a == 0 ? x : a == 1 ? y : z) + 1 < n[a]) f(n.offset(x, y, z), a);
  };
  std::vector<double> now(u.begin(), u.end()), conductance(count, 1);
  for_each_face([&](std::size_t i, int a) {
    for (int c = 0; c < 3; ++c) {
      const double slope =
          (now[c * count + i + stride[a]] - now[c * count + i]) / FieldDiffusion::slope;
      conductance[i] += slope * slope;
    }
  });
  for (int pass = 0; pass < FieldDiffusion::passes; ++pass) {
    std::vector<double> next = now;
    for_each_face([&](std::size_t i, int a) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t p = c * count + i, q = p + stride[a];
        const double time = FieldDiffusion::time / std::sqrt(g.spacing[a] / g.spacing.minCoeff()),
                     flow = share * time / conductance[i] * (now[q] - now[p]);
        next[p] += flow;
        next[q] -= flow;
      }
    });
    now = next;
  }
  return now;
}

TEST_P(Diffusion, IsWhatItSaysToTheBorder) {
  for (const Extent n : {Extent{29, 21, 13}, Extent{17, 1, 5}, Extent{1, 1, 9}, Extent{1, 1, 1}}) {
    const Geometry g = oblique_geometry(n);
    const std::vector<float> u = random_values(3 * n.count(), 7, -1, 1);
    for (const double share : {1.0, 0.5}) {
      const std::vector<float> found = diffused(ctx, g, u, share);
      const std::vector<double> truth = expected(g, u, share);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], truth[i], 1e-6) << i;
    }
  }
}

TEST_P(Diffusion, HasTheSameBitsOnEveryDeviceAndForAnyNumberOfThreads) {
  const Geometry g = oblique_geometry({61, 47, 33});
  const std::vector<float> u = random_values(3 * g.extent.count(), 8, -2, 2);
  const std::vector<float> found = diffused(ctx, g, u);
  Context three({}, 3);
  EXPECT_EQ(found, diffused(three, g, u));
  EXPECT_EQ(found, diffused(cpu, g, u));
}

TEST_P(Diffusion, KeepsConstantsAndTurnsWithTheSign) {
  const Geometry g = plain_geometry({20, 15, 10});
  const std::vector<float> constant(3 * g.extent.count(), 0.3f);
  EXPECT_EQ(diffused(ctx, g, constant), constant);
  std::vector<float> u = random_values(3 * g.extent.count(), 9, -1, 1);
  std::vector<float> found = diffused(ctx, g, u);
  for (float& v : u) v = -v;
  for (float& v : found) v = -v;
  EXPECT_EQ(diffused(ctx, g, u), found);
}

/// Two halves that slide by each other, each with noise on it: the noise falls as under a Gaussian
/// of one voxel, whose variance is (1 / (2 sqrt(pi)))^3 = 0.022 of it, and the jump stays.
TEST_P(Diffusion, SparesAJump) {
  const Geometry g = plain_geometry({32, 32, 32});
  const Extent n = g.extent;
  std::vector<float> u = random_values(3 * n.count(), 10, -0.1f, 0.1f);
  for (std::size_t i = 0; i < n.count(); ++i) u[i] += i < n.count() / 2 ? -4.0f : 4.0f;
  const std::vector<float> found = diffused(ctx, g, u);
  const auto mean_of_slice = [&](int z) {
    const auto from = found.begin() + std::ptrdiff_t(n.offset(0, 0, z));
    return std::accumulate(from, from + n.x * n.y, 0.0) / (n.x * n.y);
  };
  EXPECT_NEAR(mean_of_slice(15), -4, 0.03);
  EXPECT_NEAR(mean_of_slice(16), 4, 0.03);
  double squares = 0;
  for (std::size_t i = n.count(); i < found.size(); ++i) squares += double(found[i]) * found[i];
  const double before = 0.2 * 0.2 / 12;  // of even noise
  EXPECT_LT(squares / double(2 * n.count()), 0.06 * before);
}

}  // namespace
}  // namespace freeflow
