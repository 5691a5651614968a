// The viscous fluid on phantoms with a known deformation, on every device.
#include <freeflow/registration/flow/fluid.h>

#include <freeflow/registration/flow/pace.h>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

FluidOptions quick(SimilarityKind kind = SimilarityKind::ssd) {
  FluidOptions o;
  o.similarity.kind = kind;
  o.levels = 2;
  o.iterations = {40, 12};
  return o;
}

class Fluid : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Fluid);

TEST_P(Fluid, EveryMeasureRecoversAKnownWarp) {
  const Phantom p = usual_phantom(false);
  for (const SimilarityKind kind : {SimilarityKind::ssd, SimilarityKind::lncc, SimilarityKind::nmi,
                                    SimilarityKind::mi, SimilarityKind::cr, SimilarityKind::mind}) {
    FluidOptions o = quick(kind);
    o.iterations = {40, 6};
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_LT(p.error(ctx, r.displacement), 1.0) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u) << int(kind);
    EXPECT_EQ(r.unfolding.voxels_before, 0u) << int(kind);
    EXPECT_LT(r.inverse->residual.mean_voxels, inverse_mean_voxels) << int(kind);
    for (const LevelRecord& level : r.levels)
      EXPECT_LT(level.iterations.back().cost, level.iterations.front().cost) << int(kind);
  }
}

TEST_P(Fluid, TheUnbiasedTermHoldsTheJacobianNearOne) {
  const Phantom p = usual_phantom(false);
  FluidOptions o = quick();
  const RegistrationResult free = run(ctx, p, o);
  o.kl = 0.05;
  const RegistrationResult held = run(ctx, p, o);
  EXPECT_LT(p.error(ctx, held.displacement), 1.2);
  EXPECT_LT(held.jacobian.sd_log, 0.9 * free.jacobian.sd_log);
  const LevelRecord& level = held.levels.back();
  EXPECT_LT(level.iterations.back().cost, level.iterations.front().cost);
  ASSERT_EQ(level.penalty_names, std::vector<std::string>{"symmetric_kl"});
  for (const IterationRecord& i : level.iterations)
    ASSERT_NEAR(i.cost, i.similarity + o.kl * i.penalties[0], 1e-12);
}

/// A small ball that must become a large one: determinants far below a half.
Phantom swelling_ball() {
  Phantom p = usual_phantom(false);
  p.fixed = p.moving = centred(plain_geometry({44, 40, 36}));
  Context cpu;
  const auto ball = [&](double radius) {
    return sample_world(cpu, p.fixed,
                        [&](const Eigen::Vector3d& x) {
                          return 100 / (1 + std::exp(2 * (x.norm() - radius)));
                        })
        .to_host(cpu);
  };
  p.f = ball(5), p.m = ball(13);
  return p;
}

TEST_P(Fluid, LargeDeformationsAreRegriddedAndNeverFold) {
  const Phantom p = swelling_ball();
  for (const double kl : {0.0, 1e-4}) {
    FluidOptions o = quick();
    o.kl = kl;
    o.iterations = {80};
    o.levels = 1;
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_GT(r.levels[0].regriddings, 0);
    EXPECT_GT(r.jacobian.max, 4) << "the ball has to grow to 17 times its volume";
    EXPECT_GT(r.jacobian.min, 0.0);
    EXPECT_LT(r.levels[0].iterations.back().similarity,
              0.4 * r.levels[0].iterations.front().similarity);
    for (const IterationRecord& i : r.levels[0].iterations) ASSERT_TRUE(std::isfinite(i.cost));
  }
}

TEST_P(Fluid, NoStepIsLongerThanAsked) {
  const Phantom p = usual_phantom(false);
  FluidOptions o = quick();
  o.levels = 1;
  o.iterations = {1};
  o.step = 0.3;
  EXPECT_NEAR(longest_motion(ctx, run(ctx, p, o).displacement), 0.3, 1e-5);
}

TEST_P(Fluid, GivesTheSameBitsOnEveryDeviceByAGaussian) {
  const Phantom p = usual_phantom(false);
  for (const KlKernel kernel : {KlKernel::reuse, KlKernel::recompute}) {
    FluidOptions o = quick();
    o.kl = 0.05;
    o.iterations = {12, 4};
    o.force_kernel = kernel;
    expect_same_bits_everywhere(ctx, p, o);
  }
}

TEST_P(Fluid, AViscousFluidIsAlikeOnEveryDevice) {
  const Phantom p = usual_phantom(false);
  FluidOptions o = quick();
  o.velocity = VelocityKind::navier;
  o.iterations = {40, 8};
  const RegistrationResult r = run(ctx, p, o);
  EXPECT_LT(p.error(ctx, r.displacement), 1.5);
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
  const FieldDistance d =
      distance_between(r.displacement.to_host(ctx), run(cpu, p, o).displacement.to_host(cpu));
  EXPECT_LT(d.mean, parity_mean_voxels);
  EXPECT_LT(d.max, parity_max_voxels);
}

TEST_P(Fluid, StartsFromADisplacement) {
  FluidOptions o = quick();
  EXPECT_LT(distance_from_start(ctx, usual_phantom(false), o), 1e-9);
  o.kl = 0.02;
  EXPECT_LT(distance_from_start(ctx, usual_phantom(false), o), 1e-9);
}

TEST_P(Fluid, MasksLeaveVoxelsOut) {
  Phantom p = usual_phantom(false);
  const Volume<float> mask = shell_and_mask(ctx, p);
  Masks masks;
  masks.fixed = &mask;
  EXPECT_LT(p.error(ctx, run(ctx, p, quick(), masks).displacement), 1.0);
}

TEST_P(Fluid, WaitsOncePerIterationAndOncePerRegridding) {
  WaitCounter counter(ctx);
  FluidOptions o = quick();
  o.kl = 0.05;
  for (const LevelRecord& level : run(ctx, usual_phantom(false), o, {}, &counter).levels)
    EXPECT_EQ(std::size_t(level.evaluations), level.iterations.size()) << "no step was taken back";
}

TEST_P(Fluid, PredictionIsNeverTooSmall) {
  const Phantom p = usual_phantom(false);
  for (const VelocityKind velocity : {VelocityKind::gaussian, VelocityKind::navier}) {
    FluidOptions o = quick();
    o.kl = 0.05;
    o.velocity = velocity;
    o.iterations = {2};
    expect_memory_as_predicted(GetParam(), p, o);
  }
}

TEST_P(Fluid, SaysWhyItCannot) {
  const Phantom p = usual_phantom(false);
  const auto refuses = [&](auto&& change) {
    FluidOptions o = quick();
    change(o);
    EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  };
  refuses([](FluidOptions& o) { o.kl = -1; });
  refuses([](FluidOptions& o) { o.kl = NAN; });
  refuses([](FluidOptions& o) { o.viscosity.mu = 0; });
  refuses([](FluidOptions& o) { o.viscosity.mu = 1e-50; });
}

TEST(FlowPace, ALevelThatTookNoStepHasGainedNothing) {
  LevelRecord level;
  level.max_iterations = 3;
  EXPECT_FALSE(any_level_gained({level})) << "not one cost: every step was taken back";
  level.iterations = {{0, 2, 2, {}, 0}, {1, 1, 1, {}, 0}};
  EXPECT_TRUE(any_level_gained({level}));
  level.iterations.pop_back();
  EXPECT_FALSE(any_level_gained({level}));
}

}  // namespace
}  // namespace freeflow
