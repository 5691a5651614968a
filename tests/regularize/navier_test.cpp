// The viscous fluid's velocity: the discrete operator, applied to it, gives back the force.
#include <freeflow/regularize/navier.h>

#include <freeflow/core/error.h>
#include <freeflow/deform/displacement_field.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class Navier : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Navier);

const Eigen::Vector3d spacing(1.1, 0.9, 2.3);

/// A field per component and voxel, in double.
struct Field {
  Extent n;
  std::vector<float> values;
  double operator()(int c, int x, int y, int z) const {
    return values[(std::size_t(c * n.z + z) * n.y + y) * n.x + x];
  }
};

Field solve(Context& ctx, Extent n, const std::vector<float>& force, const Viscosity& viscosity) {
  Geometry g = plain_geometry(n);
  g.spacing = spacing;
  const DisplacementField f(ctx, g, force);
  DisplacementField v(ctx, g);
  NavierVelocity(ctx, g, viscosity).apply(ctx, f.view(), v.view());
  return {n, v.to_host(ctx)};
}

/// mu lap v + (mu + lambda) grad div v at a voxel, by differences in mm; v leaves multiplied by the
/// voxel side.
double operator_on(const Field& v, const Viscosity& o, int c, int x, int y, int z) {
  const auto at = [&](int k, int i, int j, int l) {
    return v(k, x + i, y + j, z + l) / spacing[k];
  };
  const auto step = [](int axis, int by) {
    return std::array<int, 3>{axis == 0 ? by : 0, axis == 1 ? by : 0, axis == 2 ? by : 0};
  };
  double laplacian = 0, grad_div = 0;
  for (int a = 0; a < 3; ++a) {
    const auto up = step(a, 1), down = step(a, -1);
    laplacian +=
        (at(c, up[0], up[1], up[2]) - 2 * at(c, 0, 0, 0) + at(c, down[0], down[1], down[2])) /
        (spacing[a] * spacing[a]);
    for (const int side : {1, -1})
      for (const int other : {1, -1}) {
        const auto p = step(c, side), q = step(a, other);
        grad_div += side * other * at(a, p[0] + q[0], p[1] + q[1], p[2] + q[2]) /
                    (4 * spacing[c] * spacing[a]);
      }
  }
  return o.mu * laplacian + (o.mu + o.lambda) * grad_div;
}

TEST_P(Navier, TheOperatorGivesBackTheForce) {
  const Extent n{22, 17, 13};
  const std::vector<float> force = random_values(3 * n.count(), 6, -1, 1);
  Geometry g = plain_geometry(n);
  const Extent torus = NavierVelocity(ctx, g, {}).torus();
  for (const Viscosity& o : {Viscosity{1, 1}, Viscosity{0.3, 2.5}, Viscosity{2, -2}}) {
    const Field v = solve(ctx, n, force, o);
    const Field f{n, force};
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < n.count(); ++i) sum += force[c * n.count() + i];
      const double mean = sum / double(torus.count());
      for (int z = 2; z < n.z - 2; ++z)
        for (int y = 2; y < n.y - 2; ++y)
          for (int x = 2; x < n.x - 2; ++x)
            ASSERT_NEAR(operator_on(v, o, c, x, y, z), -(f(c, x, y, z) - mean) / spacing[c], 2e-4)
                << c << ' ' << x << ' ' << y << ' ' << z;
    }
  }
}

TEST_P(Navier, FollowsAUniformPushAndDiesAwayFromIt) {
  const Extent n{40, 32, 20};
  const auto inside = [](int x, int y, int z) {
    return std::abs(x - 20) < 5 && std::abs(y - 16) < 5 && std::abs(z - 10) < 3;
  };
  const std::vector<float> force = field_planes(
      n, [&](int x, int y, int z) { return Eigen::Vector3d(inside(x, y, z) ? 1 : 0, 0, 0); });
  const Field v = solve(ctx, n, force, {});
  EXPECT_GT(v(0, 20, 16, 10), 4 * v(0, 2, 2, 2));
  EXPECT_GT(v(0, 20, 16, 10), 20 * std::abs(v(1, 20, 16, 10)));
}

TEST_P(Navier, GivesWhatTheCpuGives) {
  for (const Extent n : {Extent{61, 47, 33}, Extent{1, 9, 14}, Extent{30, 1, 1}}) {
    const std::vector<float> force = random_values(3 * n.count(), 4, -1, 1);
    const Field a = solve(ctx, n, force, {}), b = solve(cpu, n, force, {});
    float largest = 0;
    for (float value : b.values) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 0);
    for (std::size_t i = 0; i < a.values.size(); ++i)
      ASSERT_NEAR(a.values[i], b.values[i], 2e-5 * largest);
  }
}

TEST_P(Navier, AllocatesNothingAndARehearsalCountsItsMemory) {
  Context fresh(GetParam());
  const Geometry g = plain_geometry({33, 40, 21});
  Context rehearsal = fresh.rehearsal();
  const NavierVelocity navier(fresh, g, {}), imagined(rehearsal, g, {});
  EXPECT_EQ(fresh.statistics().bytes_in_use, rehearsal.statistics().bytes_in_use);
  DisplacementField f(fresh, g, random_values(3 * g.extent.count(), 1));
  const ContextStatistics then = fresh.statistics();
  navier.apply(fresh, std::as_const(f).view(), f.view());
  EXPECT_EQ(fresh.statistics().allocations, then.allocations);
  EXPECT_EQ(fresh.statistics().synchronizations, then.synchronizations);
}

TEST_P(Navier, RefusesWhatIsNoFluid) {
  const Geometry g = plain_geometry({8, 8, 8});
  EXPECT_THROW(NavierVelocity(ctx, g, {0, 1}), InvalidArgument);
  EXPECT_THROW(NavierVelocity(ctx, g, {1, -1.5}), InvalidArgument);
  EXPECT_THROW(NavierVelocity(ctx, g, {NAN, 1}), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
