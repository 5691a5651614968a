// The demons' update against its formula in double precision, and what step options mean and
// refuse.
#include <freeflow/registration/flow/demons_force.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <freeflow/deform/warp.h>
#include <freeflow/registration/flow/demons.h>
#include <freeflow/registration/flow/flow.h>
#include <freeflow/registration/flow/fluid.h>
#include <freeflow/registration/flow/velocity.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/refused_options.h"

namespace freeflow {
namespace {

using namespace test;

class DemonsUpdate : public OnDevice {
 protected:
  DemonsUpdate() { grid.spacing = {1, 2, 4}; }
  std::vector<float> values(unsigned seed, float high) const {
    return random_values(grid.extent.count(), seed, 0, high);
  }

  Geometry grid = plain_geometry({7, 6, 5});
  const Extent n = grid.extent;
};
FREEFLOW_ON_EVERY_DEVICE(DemonsUpdate);

/// Of one channel: the difference, half the gradients' sum or the fixed image's, per smallest side.
struct Part {
  double d;
  Eigen::Vector3d j;

  Part(const std::vector<float>& f, const std::vector<float>& m, const Geometry& grid, int x, int y,
       int z, bool of_thirion, double scale) {
    const Extent n = grid.extent;
    const auto gradient = [&](const std::vector<float>& v) -> Eigen::Vector3d {
      const std::size_t i = n.offset(x, y, z), row = std::size_t(n.x), slice = row * n.y;
      return Eigen::Vector3d(0.5 * Eigen::Vector3d(v[i + 1] - v[i - 1], v[i + row] - v[i - row],
                                                   v[i + slice] - v[i - slice]))
          .cwiseQuotient(grid.spacing / grid.spacing.minCoeff());
    };
    d = scale * (f[n.offset(x, y, z)] - m[n.offset(x, y, z)]);
    j = scale * gradient(f);
    if (!of_thirion) j = 0.5 * (j + scale * gradient(m));
  }
};

TEST_P(DemonsUpdate, IsThatOfItsFormula) {
  const std::vector<float> f = values(1, 9), m = values(2, 9);
  const Volume<float> fixed(ctx, grid, f), moving(ctx, grid, m);
  const ImagePair pair{fixed, moving, index_map(grid, Eigen::Affine3d::Identity(), grid)};
  DisplacementField u(ctx, grid), update(ctx, grid);
  u.fill_zero(ctx);
  for (const bool of_thirion : {false, true})
    for (const double step : {0.5, 0.125}) {
      DemonsForce(ctx, {&pair, 1}, {}, of_thirion)
          .evaluate(ctx, std::as_const(u).view(), step, update.view());
      const std::vector<float> found = update.to_host(ctx);
      for (int z = 1; z < n.z - 1; ++z)
        for (int y = 1; y < n.y - 1; ++y)
          for (int x = 1; x < n.x - 1; ++x) {
            const Part p(f, m, grid, x, y, z, of_thirion, 1);
            const double bound = p.d / (2 * step);
            const Eigen::Vector3d a = p.d / (p.j.squaredNorm() + bound * bound) * p.j;
            EXPECT_LE(a.norm(), step * (1 + 1e-6)) << "no longer than the step";
            for (int c = 0; c < 3; ++c)
              ASSERT_NEAR(found[n.offset(x, y, z) + std::size_t(c) * n.count()],
                          a[c] * grid.spacing[c], 1e-5);
          }
    }
}

TEST_P(DemonsUpdate, OfChannelsIsTheCommonStepOfThoseThatSaySomething) {
  std::vector<float> f[2], m[2];
  for (unsigned c = 0; c < 2; ++c) f[c] = values(3 + c, 9), m[c] = values(5 + c, 9);
  const std::size_t hole = n.offset(3, 2, 2);
  m[1][hole] = NAN;
  const PointMap same = index_map(grid, Eigen::Affine3d::Identity(), grid);
  const Volume<float> fixed[] = {Volume<float>(ctx, grid, f[0]), Volume<float>(ctx, grid, f[1])},
                      moving[] = {Volume<float>(ctx, grid, m[0]), Volume<float>(ctx, grid, m[1])};
  const ImagePair pairs[] = {{fixed[0], moving[0], same}, {fixed[1], moving[1], same}};
  // About the hole a sample has a corner in it.
  DisplacementField u(ctx, grid), update(ctx, grid);
  u.fill_zero(ctx);
  Volume<float> warped(ctx, grid);
  warp_values(ctx, std::as_const(moving[1]).view(), same, std::as_const(u).view(), warped.view());
  m[1] = warped.to_host(ctx);
  const double weight[] = {0.75, 0.25}, step = 0.25;
  const std::vector<DemonsChannel> scales = {{weight[0], {0, 8}, {2, 4}},
                                             {weight[1], {1, 3}, {0, 5}}};
  const double scale[] = {1.0 / 8, 1.0 / 5};  // by the larger range of the two images
  DemonsForce(ctx, pairs, scales).evaluate(ctx, std::as_const(u).view(), step, update.view());
  const std::vector<float> found = update.to_host(ctx);
  for (int z = 1; z < n.z - 1; ++z)
    for (int y = 1; y < n.y - 1; ++y)
      for (int x = 1; x < n.x - 1; ++x) {
        Eigen::Vector3d sum = Eigen::Vector3d::Zero();
        double divisor = 0;
        for (int c = 0; c < 2; ++c) {
          const Part p(f[c], m[c], grid, x, y, z, false, scale[c]);
          const double bound = p.d / (2 * step);
          if (!std::isfinite(p.d + p.j.sum())) continue;
          sum += weight[c] * p.d * p.j;
          divisor += weight[c] * (p.j.squaredNorm() + bound * bound);
        }
        for (int c = 0; c < 3; ++c)
          ASSERT_NEAR(found[n.offset(x, y, z) + std::size_t(c) * n.count()],
                      sum[c] / divisor * grid.spacing[c], 1e-5)
              << x << ' ' << y << ' ' << z;
      }
}

TEST(StepSettings, MeanWhatTheySay) {
  EXPECT_EQ(parse_demons("log"), DemonsKind::log);
  EXPECT_EQ(parse_demons("esm"), DemonsKind::esm);
  EXPECT_EQ(parse_demons("thirion"), DemonsKind::thirion);
  EXPECT_FALSE(parse_demons("guess").has_value());
  EXPECT_EQ(parse_velocity("gaussian"), VelocityKind::gaussian);
  EXPECT_EQ(parse_velocity("navier"), VelocityKind::navier);
  EXPECT_FALSE(parse_velocity("guess").has_value());
  Geometry grid;
  grid.spacing = {2, 4, 8};
  EXPECT_EQ(in_voxels({1.5}, grid), Eigen::Vector3d(1.5, 0.75, 0.375)) << "of the smallest side";
  EXPECT_EQ(in_voxels({2, true}, grid), Eigen::Vector3d(1, 0.5, 0.25));
  EXPECT_EQ(FieldSigmas().of_level(3).value, 0.6);
  EXPECT_EQ(FieldSigmas({{2}}).of_level(3).value, 2);
  EXPECT_EQ(FieldSigmas({{2}, {3}, {4}}).of_level(0).value, 2) << "coarse to fine";
  FlowOptions o;
  o.levels = 6;
  std::vector<int> iterations;
  iterations.reserve(std::size_t(o.levels));
  for (int l = 0; l < o.levels; ++l) iterations.push_back(o.iterations_of_level(l));
  EXPECT_EQ(iterations, (std::vector<int>{100, 100, 100, 80, 40, 20}));
}

template <class Options>
void expect_steps_refused(const std::string& model) {
  const auto refused = [&](const char* field, auto&& change) {
    const std::string sentence = sentence_of<Options>(change);
    EXPECT_TRUE(sentence.starts_with(model + "::" + field + " ")) << field << ": " << sentence;
  };
  EXPECT_EQ(sentence_of<Options>([](Options&) {}), "");
  for (const double wrong : {0.0, -1.0, 1.01, double(NAN)})
    refused("step", [&](Options& o) { o.step = wrong; });
  for (const double wrong : {0.0, -1.0, 50.1, double(NAN)})
    refused("sigma_update", [&](Options& o) { o.sigma_update.value = wrong; });
  for (const double wrong : {-1e-9, double(NAN), double(INFINITY)})
    refused("tolerance", [&](Options& o) { o.tolerance = wrong; });
}

TEST(StepSettings, ThatCannotBeAreRefusedByName) {
  expect_steps_refused<FlowOptions>("FlowOptions");
  expect_steps_refused<DemonsOptions>("DemonsOptions");
  expect_steps_refused<FluidOptions>("FluidOptions");
  const DisplacementField field;
  const auto flow = [](auto&& change) { return sentence_of<FlowOptions>(change); };
  const auto demons = [](auto&& change) { return sentence_of<DemonsOptions>(change); };
  for (const FieldSigmas& wrong : {FieldSigmas{{50.1}}, FieldSigmas{{1}, {1}}}) {
    EXPECT_TRUE(flow([&](FlowOptions& o) {
                  o.sigma_field = wrong;
                }).starts_with("FlowOptions::sigma_field "));
    EXPECT_TRUE(demons([&](DemonsOptions& o) {
                  o.sigma_field = wrong;
                }).starts_with("DemonsOptions::sigma_field "));
  }
  EXPECT_TRUE(flow([](FlowOptions& o) { o.viscosity.mu = 0; }).starts_with("Viscosity::mu "));
  EXPECT_TRUE(flow([&](FlowOptions& o) {
                o.initial_velocity = &field;
              }).starts_with("FlowOptions::initial_velocity "));
  EXPECT_TRUE(demons([&](DemonsOptions& o) {
                o.kind = DemonsKind::esm;
                o.initial_velocity = &field;
              }).starts_with("DemonsOptions::initial_velocity "));
  EXPECT_TRUE(demons([&](DemonsOptions& o) {
                o.initial_displacement = &field;
              }).starts_with("DemonsOptions::initial_displacement "));
  EXPECT_TRUE(demons([](DemonsOptions& o) {
                o.kind = DemonsKind::esm;
                o.symmetric = true;
              }).starts_with("DemonsOptions::symmetric "));
  EXPECT_TRUE(demons([](DemonsOptions& o) {
                o.penalties = {{"bending", 1, [] { return std::make_unique<BendingEnergy>(); }}};
              }).starts_with("DemonsOptions::penalties "));
}

}  // namespace
}  // namespace freeflow
