// The B-spline lattice: evaluation, its transpose, exact refinement and the analytic Jacobian, on
// every device.
#include <freeflow/deform/control_point_grid.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/regularize/gaussian.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Lattice : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Lattice);

const Geometry grid = oblique_geometry({37, 29, 13}, {1.1, 1.3, 4.0});
const Eigen::Vector3d spacing(5.7, 6.1, 8.5);

void fill_random(Context& ctx, ControlPointGrid& lattice, unsigned seed, float amplitude) {
  lattice.coefficients() =
      Buffer<float>(ctx, random_values(lattice.coefficients().size(), seed, -amplitude, amplitude));
}

/// Textbook evaluation in double: 64 taps, displacement in voxels of `g` whose first centre is at
/// lattice position `offset` (mm).
double oracle(const ControlPointGrid& lattice, const std::vector<float>& c, const Geometry& g,
              const Eigen::Vector3d& offset, int component, const int index[3]) {
  const Extent n = lattice.extent();
  const auto beta = [](double x) {
    x = std::abs(x);
    return x < 1 ? 2.0 / 3 - x * x + x * x * x / 2 : x < 2 ? std::pow(2 - x, 3) / 6 : 0.0;
  };
  double sum = 0;
  for (int k = 0; k < n.z; ++k)
    for (int j = 0; j < n.y; ++j)
      for (int i = 0; i < n.x; ++i) {
        const int node[3] = {i, j, k};
        double w = 1;
        for (int a = 0; a < 3; ++a)
          w *=
              beta((offset[a] + index[a] * g.spacing[a]) / lattice.spacing_mm()[a] - (node[a] - 1));
        if (w != 0) sum += w * c[component * n.count() + (std::size_t(k) * n.y + j) * n.x + i];
      }
  return sum / g.spacing[component];
}

TEST_P(Lattice, EvaluatesAsTheTextbookSays) {
  ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d::Zero());
  fill_random(ctx, lattice, 11, 5);
  DisplacementField u(ctx, grid);
  SplineSampler(ctx, lattice, grid).evaluate(ctx, lattice.view(), u.view());
  const std::vector<float> values = u.to_host(ctx), c = lattice.coefficients().to_host(ctx);
  for (std::size_t i = 0; i < grid.extent.count(); i += 131)
    for (int component = 0; component < 3; ++component) {
      const int index[3] = {int(i % 37), int(i / 37 % 29), int(i / (37 * 29))};
      ASSERT_NEAR(values[i + component * grid.extent.count()],
                  oracle(lattice, c, grid, Eigen::Vector3d::Zero(), component, index), float_sum);
    }
}

TEST_P(Lattice, PassesThroughAFieldAtItsPoints) {
  const Geometry fine = oblique_geometry({61, 41, 25}, {1.0, 1.5, 2.0});
  ControlPointGrid lattice(ctx, fine, {5, 6, 8}, Eigen::Vector3d::Zero());
  const DisplacementField u(ctx, fine,
                            field_planes(fine.extent, [](int x, int y, int z) -> Eigen::Vector3d {
                              return {2 * std::sin(0.08 * x + 0.05 * y), std::cos(0.07 * y),
                                      std::sin(0.1 * z + 0.06 * x)};
                            }));
  lattice.interpolate(ctx, u);
  DisplacementField back(ctx, fine);
  SplineSampler(ctx, lattice, fine).evaluate(ctx, lattice.view(), back.view());
  const std::vector<float> expected = u.to_host(ctx), found = back.to_host(ctx);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t voxel = i % fine.extent.count();
    const int x = int(voxel % 61), y = int(voxel / 61 % 41), z = int(voxel / (61 * 41));
    const bool on_point = x % 5 == 0 && y % 4 == 0 && z % 4 == 0;
    const bool inside = x > 5 && x < 55 && y > 4 && y < 36 && z > 4 &&
                        z < 20;  // beyond the border the field is constant
    ASSERT_NEAR(found[i], expected[i], on_point ? 1e-5 : inside ? 0.03 : 0.3) << i;
  }
  ControlPointGrid on_cpu(cpu, fine, {5, 6, 8}, Eigen::Vector3d::Zero());
  on_cpu.interpolate(cpu, DisplacementField(cpu, fine, expected));
  EXPECT_EQ(on_cpu.coefficients().to_host(cpu), lattice.coefficients().to_host(ctx));
}

TEST_P(Lattice, ACoarseLevelSeesTheSameDeformation) {
  const Geometry coarse = decimated(grid, {4, 2, 1});
  ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d(1.65, 0.65, 0));
  fill_random(ctx, lattice, 12, 5);
  DisplacementField u(ctx, coarse);
  SplineSampler(ctx, lattice, coarse).evaluate(ctx, lattice.view(), u.view());
  const std::vector<float> values = u.to_host(ctx), c = lattice.coefficients().to_host(ctx);
  const Eigen::Vector3d offset(1.5 * 1.1, 0.5 * 1.3, 0);
  for (std::size_t i = 0; i < coarse.extent.count(); i += 53)
    for (int component = 0; component < 3; ++component) {
      const int index[3] = {int(i % coarse.extent.x), int(i / coarse.extent.x % coarse.extent.y),
                            int(i / (coarse.extent.x * coarse.extent.y))};
      ASSERT_NEAR(values[i + component * coarse.extent.count()],
                  oracle(lattice, c, coarse, offset, component, index), float_sum);
    }
}

TEST_P(Lattice, AdjointIsTheTransposeOfEvaluate) {
  ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d::Zero());
  fill_random(ctx, lattice, 13, 1);
  const SplineSampler sampler(ctx, lattice, grid);
  DisplacementField u(ctx, grid);
  sampler.evaluate(ctx, lattice.view(), u.view());
  const std::vector<float> f = random_values(3 * grid.extent.count(), 14, -1, 1);
  const DisplacementField force(ctx, grid, f);
  Buffer<float> gradient(ctx, lattice.coefficients().size());
  sampler.adjoint(ctx, force.view(), {gradient.data(), lattice.extent()});
  const std::vector<float> a = u.to_host(ctx), c = lattice.coefficients().to_host(ctx),
                           g = gradient.to_host(ctx);
  double left = 0, right = 0, scale = 0;
  for (std::size_t i = 0; i < f.size(); ++i)
    left += double(a[i]) * f[i], scale += std::abs(double(a[i]) * f[i]);
  for (std::size_t i = 0; i < g.size(); ++i) right += double(c[i]) * g[i];
  EXPECT_NEAR(left, right, 1e-6 * scale);
}

/// Some slices of three planes.
std::vector<float> slices_of(const std::vector<float>& planes, Extent n, int first, int slices) {
  const std::size_t slice = std::size_t(n.x) * n.y;
  std::vector<float> found;
  for (int c = 0; c < 3; ++c) {
    const auto from = planes.begin() + std::ptrdiff_t(c * n.count() + first * slice);
    found.insert(found.end(), from, from + std::ptrdiff_t(slices * slice));
  }
  return found;
}

TEST_P(Lattice, SlabsGiveTheBitsOfTheWhole) {
  ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d::Zero());
  fill_random(ctx, lattice, 13, 1);
  const SplineSampler sampler(ctx, lattice, grid, true);
  const Extent n = grid.extent;
  const std::vector<float> f = random_values(3 * n.count(), 14, -1, 1);
  DisplacementField u(ctx, grid);
  sampler.evaluate(ctx, lattice.view(), u.view());
  Buffer<float> whole(ctx, lattice.coefficients().size()), parts(ctx, whole.size());
  sampler.adjoint(ctx, DisplacementField(ctx, grid, f).view(), {whole.data(), lattice.extent()});
  const std::vector<float> expected_u = u.to_host(ctx), expected = whole.to_host(ctx);
  for (const int depth : {1, 3, n.z}) {
    sampler.take(ctx, lattice.view());
    sampler.begin_adjoint(ctx);
    for (int first = 0; first < n.z; first += depth) {
      Geometry slab = grid;
      slab.extent.z = std::min(depth, n.z - first);
      DisplacementField slab_u(ctx, slab);
      sampler.evaluate_slices(ctx, first, slab_u.view());
      EXPECT_EQ(slab_u.to_host(ctx), slices_of(expected_u, n, first, slab.extent.z)) << first;
      const DisplacementField slab_f(ctx, slab, slices_of(f, n, first, slab.extent.z));
      sampler.gather_slices(ctx, first, slab_f.view(), 0, lattice.extent().z);
    }
    sampler.finish_adjoint(ctx, {parts.data(), lattice.extent()});
    EXPECT_EQ(parts.to_host(ctx), expected) << depth;
  }
  EXPECT_THROW(sampler.evaluate_slices(ctx, 1, u.view()), InvalidArgument);
  EXPECT_THROW(SplineSampler(ctx, lattice, grid).begin_adjoint(ctx), InvalidArgument);
}

// As two GPUs do it side by side: the control points that both reach wait for the one before.
TEST_P(Lattice, AHalfBeforeTheOtherGivesTheBitsOfTheWhole) {
  const ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d::Zero());
  const SplineSampler sampler(ctx, lattice, grid, true);
  const Extent n = grid.extent;
  const std::vector<float> f = random_values(3 * n.count(), 15, -1, 1);
  Buffer<float> whole(ctx, lattice.coefficients().size()), parts(ctx, whole.size());
  sampler.adjoint(ctx, DisplacementField(ctx, grid, f).view(), {whole.data(), lattice.extent()});
  for (int border = 1; border < n.z; ++border) {
    const auto gather = [&](int begin, int end, int from, int to) {
      Geometry slab = grid;
      slab.extent.z = end - begin;
      const DisplacementField slab_f(ctx, slab, slices_of(f, n, begin, end - begin));
      sampler.gather_slices(ctx, begin, slab_f.view(), from, to);
    };
    const int shared = sampler.reached_before(border), last = sampler.reaching_before(shared);
    EXPECT_GT(shared, 3);
    EXPECT_GE(last, border);
    sampler.begin_adjoint(ctx);
    gather(border, n.z, shared, lattice.extent().z);
    gather(0, border, 0, lattice.extent().z);
    if (last > border) gather(border, last, 0, shared);
    sampler.finish_adjoint(ctx, {parts.data(), lattice.extent()});
    EXPECT_EQ(parts.to_host(ctx), whole.to_host(ctx)) << border;
  }
}

TEST_P(Lattice, RefinementDoesNotMoveAnything) {
  ControlPointGrid coarse(ctx, grid, 2 * spacing, Eigen::Vector3d::Zero());
  fill_random(ctx, coarse, 15, 5);
  DisplacementField before(ctx, grid), after(ctx, grid);
  SplineSampler(ctx, coarse, grid).evaluate(ctx, coarse.view(), before.view());
  for (const std::array<bool, 3>& axes :
       {std::array{true, true, true}, std::array{true, false, true},
        std::array{false, true, false}}) {
    const ControlPointGrid fine = coarse.refined(ctx, axes);
    for (int a = 0; a < 3; ++a)
      EXPECT_EQ(fine.spacing_mm()[a], coarse.spacing_mm()[a] / (axes[a] ? 2 : 1));
    SplineSampler(ctx, fine, grid).evaluate(ctx, fine.view(), after.view());
    const std::vector<float> x = before.to_host(ctx), y = after.to_host(ctx);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], float_sum);
  }
}

/// A length just beyond a whole number of knots, as single precision leaves it, is one knot more
/// only for the halved spacing: what subdivision could not fill was read from beyond the lattice.
TEST_P(Lattice, RefinementFillsALengthThatRoundingMakesLonger) {
  for (int axis = 0; axis < 3; ++axis) {
    Geometry g = plain_geometry({9, 9, 9});
    g.spacing[axis] = 1 + 0.75e-6 * 2 / 8;
    ControlPointGrid lattice(ctx, g, Eigen::Vector3d::Constant(2), Eigen::Vector3d::Zero());
    ASSERT_EQ(lattice.extent(), (Extent{7, 7, 7}));
    const std::vector<float> ones(3 * lattice.extent().count(), 1);
    lattice.coefficients() = Buffer<float>(ctx, ones);
    std::array<bool, 3> axes{};
    axes[std::size_t(axis)] = true;
    const ControlPointGrid fine = lattice.refined(ctx, axes);
    EXPECT_EQ(fine.extent()[axis], 11);
    for (const float v : fine.coefficients().to_host(ctx)) ASSERT_EQ(v, 1) << axis;
  }
}

TEST_P(Lattice, AnalyticJacobianOfALinearSplineIsExact) {
  ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d::Zero());
  Eigen::Matrix3d m;  // mm per mm
  m << 0.1, -0.05, 0.02, 0.04, -0.2, 0.03, 0.05, 0.01, 0.15;
  const Extent n = lattice.extent();
  lattice.coefficients() = Buffer<float>(
      ctx, field_planes(n, [&](int i, int j, int k) {
        return Eigen::Vector3d(m * Eigen::Vector3d((i - 1) * spacing.x(), (j - 1) * spacing.y(),
                                                   (k - 1) * spacing.z()));
      }));
  const double det = (Eigen::Matrix3d::Identity() + m).determinant();
  for (float j : spline_jacobian(ctx, lattice, grid).to_host(ctx)) ASSERT_NEAR(j, det, 2e-5);
}

TEST_P(Lattice, AnalyticJacobianMatchesFiniteDifferences) {
  const Geometry fine = plain_geometry(
      {24, 22, 20}, 0.25);  // voxels much smaller than the knots: differences are exact to h^2
  ControlPointGrid lattice(ctx, fine, Eigen::Vector3d(3, 3, 3), Eigen::Vector3d::Zero());
  fill_random(ctx, lattice, 16, 0.7f);
  DisplacementField u(ctx, fine);
  SplineSampler(ctx, lattice, fine).evaluate(ctx, lattice.view(), u.view());
  const std::vector<float> analytic = spline_jacobian(ctx, lattice, fine).to_host(ctx),
                           numeric = jacobian_determinant(ctx, u).to_host(ctx);
  for (int z = 1; z < 19; ++z)
    for (int y = 1; y < 21; ++y)
      for (int x = 1; x < 23; ++x) {
        const std::size_t i = (std::size_t(z) * 22 + y) * 24 + x;
        ASSERT_NEAR(analytic[i], numeric[i],
                    1e-2);  // (0.25 / 3)^2 / 6 of third derivatives of order 1
      }
}

TEST_P(Lattice, GivesTheSameBitsAsTheCpu) {
  const std::vector<float> f = random_values(3 * grid.extent.count(), 14, -1, 1);
  const auto run = [&](Context& c) {
    ControlPointGrid lattice(c, grid, spacing, Eigen::Vector3d::Zero());
    fill_random(c, lattice, 13, 5);
    lattice = lattice.refined(c, {true, true, false});
    const SplineSampler sampler(c, lattice, grid);
    DisplacementField u(c, grid);
    sampler.evaluate(c, lattice.view(), u.view());
    Buffer<float> gradient(c, lattice.coefficients().size());
    sampler.adjoint(c, DisplacementField(c, grid, f).view(), {gradient.data(), lattice.extent()});
    std::vector<float> all = u.to_host(c);
    for (const std::vector<float>& part :
         {gradient.to_host(c), spline_jacobian(c, lattice, grid).to_host(c)})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  Context one({}, 1);
  const std::vector<float> expected = run(one);
  EXPECT_EQ(run(ctx), expected);
  EXPECT_EQ(run(cpu), expected);
}

TEST_P(Lattice, RefusesForeignAxesAndBadSpacing) {
  const ControlPointGrid lattice(ctx, grid, spacing, Eigen::Vector3d::Zero());
  EXPECT_THROW(SplineSampler(ctx, lattice, plain_geometry({8, 8, 8})), InvalidArgument);
  EXPECT_THROW(ControlPointGrid(ctx, grid, Eigen::Vector3d(0, 1, 1), Eigen::Vector3d::Zero()),
               InvalidArgument);
}

}  // namespace
}  // namespace freeflow
