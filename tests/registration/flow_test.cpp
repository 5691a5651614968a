// The compositive flow on phantoms with a known deformation, on every device.
#include <freeflow/registration/flow/flow.h>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

template <class Options = FlowOptions>
Options quick(SimilarityKind kind = SimilarityKind::lncc) {
  Options o;
  o.similarity.kind = kind;
  o.levels = 2;
  o.iterations = {40, 12};
  return o;
}

class Flow : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Flow);

TEST_P(Flow, EveryMeasureRecoversAKnownWarp) {
  const Phantom p = usual_phantom(false);
  EXPECT_GT(p.error_before(), 3.4);
  for (const SimilarityKind kind : {SimilarityKind::lncc, SimilarityKind::ssd, SimilarityKind::nmi,
                                    SimilarityKind::mi, SimilarityKind::cr, SimilarityKind::mind}) {
    FlowOptions o = quick(kind);
    if (kind == SimilarityKind::cr)
      o.iterations = {40};  // twelve full steps on the finest level leave it above its start
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_LT(p.error(ctx, r.displacement), 0.9) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u) << int(kind);
    EXPECT_LT(r.inverse->residual.mean_voxels, inverse_mean_voxels) << int(kind);
    ASSERT_EQ(r.levels.size(), 2u);
    for (const LevelRecord& level : r.levels)
      EXPECT_LT(level.iterations.back().cost, level.iterations.front().cost) << int(kind);
  }
}

TEST_P(Flow, DemonsRecoverAKnownWarpWithAnInverse) {
  const Phantom p = usual_phantom(false);
  for (const SimilarityKind kind : {SimilarityKind::ssd, SimilarityKind::lncc}) {
    const DemonsOptions o = quick<DemonsOptions>(kind);
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_LT(p.error(ctx, r.displacement), 0.9) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u);
    EXPECT_LT(r.inverse->residual.mean_voxels, inverse_mean_voxels);
    Context two({}, 2);
    EXPECT_EQ(run(two, p, o).displacement.to_host(two), r.displacement.to_host(ctx));
  }
}

TEST_P(Flow, EveryKindOfDemonsRecoversAKnownWarp) {
  const Phantom p = usual_phantom(false);
  for (const DemonsKind kind : {DemonsKind::esm, DemonsKind::thirion}) {
    DemonsOptions o = quick<DemonsOptions>(SimilarityKind::ssd);
    o.kind = kind;
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_LT(p.error(ctx, r.displacement), 1.0) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u) << int(kind);
    EXPECT_EQ(r.displacement.to_host(ctx), run(cpu, p, o).displacement.to_host(cpu)) << int(kind);
  }
}

TEST_P(Flow, DemonsDoNotCareForTheScaleOfTheIntensities) {
  const Phantom p = usual_phantom(false);
  DemonsOptions o = quick<DemonsOptions>(SimilarityKind::ssd);
  o.iterations = {10, 2};
  const std::vector<float> expected = run(ctx, p, o).displacement.to_host(ctx);
  for (const int power : {70, -70}) {  // a float holds the values, but not their squares
    Phantom q = p;
    for (std::vector<float>* image : {&q.f, &q.m})
      for (float& v : *image) v = std::ldexp(v, power);
    EXPECT_EQ(run(ctx, q, o).displacement.to_host(ctx), expected) << power;
  }
}

TEST_P(Flow, SwappedImagesOfASymmetricFlowGiveTheInverseToTheBit) {
  Phantom p = usual_phantom(false), q = p;
  q.moving = p.moving = p.fixed;
  Context host;
  p.m = sample_world(host, p.fixed, [](const Eigen::Vector3d& x) {
          return head(x, 26);
        }).to_host(host);
  q.f = p.m, q.m = p.f;
  const auto expect_inverse = [&](auto o) {
    const int kind = int(o.similarity.kind);
    o.symmetric = true;
    o.iterations = {20, 5};
    const RegistrationResult a = run(ctx, p, o), b = run(ctx, q, o);
    EXPECT_EQ(a.displacement.to_host(ctx), b.inverse->field.to_host(ctx)) << kind;
    EXPECT_EQ(a.inverse->field.to_host(ctx), b.displacement.to_host(ctx)) << kind;
    EXPECT_EQ(a.levels[1].iterations.back().cost, b.levels[1].iterations.back().cost) << kind;
    EXPECT_LT(a.inverse->residual.mean_voxels, inverse_mean_voxels);
    EXPECT_EQ(a.jacobian.folded_voxels, 0u);
    EXPECT_LT(p.error(ctx, a.displacement), 1.2) << kind;
  };
  expect_inverse(quick(SimilarityKind::lncc));
  expect_inverse(quick(SimilarityKind::nmi));
  expect_inverse(quick<DemonsOptions>(SimilarityKind::ssd));
}

TEST_P(Flow, ReturnsTheVelocityAndGoesOnFromIt) {
  const Phantom p = in_order(usual_phantom(false), false);
  const auto expect_going_on = [&](auto o) {
    o.iterations = {20, 5};
    const RegistrationResult r = run(ctx, p, o);
    ASSERT_FALSE(r.velocity.empty());
    ASSERT_EQ(r.unfolding.rounds, 0);
    EXPECT_EQ(exponential(ctx, r.velocity).to_host(ctx), r.displacement.to_host(ctx));
    o.initial_velocity = &r.velocity;
    o.levels = 1;
    o.iterations = {0};
    const RegistrationResult again = run(ctx, p, o);
    EXPECT_LT(distance_between(again.displacement.to_host(ctx), r.displacement.to_host(ctx)).max,
              1e-4)
        << "sampled at its own voxels";
    const double reached = r.levels.back().iterations.back().cost;
    EXPECT_NEAR(again.levels[0].iterations.front().cost, reached, 1e-5 * std::abs(reached));
    const DisplacementField u(ctx, p.fixed, true_planes(p.fixed));
    o.initial_displacement = &u;
    EXPECT_THROW(run(ctx, p, o), InvalidArgument) << "both";
  };
  FlowOptions flow = quick();
  flow.symmetric = true;
  expect_going_on(flow);
  expect_going_on(quick<DemonsOptions>(SimilarityKind::ssd));
  EXPECT_TRUE(run(ctx, p, quick()).velocity.empty());
}

TEST_P(Flow, ASymmetricFlowTakesAnyGridsAndPredictsItsMemory) {
  const Phantom p = usual_phantom(false);
  for (const double kl : {0.0, 0.01}) {
    Context fresh(GetParam());
    FlowOptions o = quick(SimilarityKind::ssd);
    o.symmetric = true;
    o.iterations = {40, 8};
    o.kl = kl;
    const RegistrationResult r = run(fresh, p, o);
    EXPECT_LT(p.error(fresh, r.displacement), 1.2);
    EXPECT_LT(r.inverse->residual.mean_voxels, inverse_mean_voxels);
    EXPECT_LE(fresh.statistics().peak_bytes, predict_run(fresh, p, o));
    EXPECT_EQ(r.displacement.to_host(fresh), run(cpu, p, o).displacement.to_host(cpu));
  }
}

TEST_P(Flow, AViscousVelocityRecoversAKnownWarpAlikeOnEveryDevice) {
  const Phantom p = usual_phantom(false);
  FlowOptions o = quick(SimilarityKind::ssd);
  o.velocity = VelocityKind::navier;
  const RegistrationResult r = run(ctx, p, o), expected = run(cpu, p, o);
  EXPECT_LT(p.error(ctx, r.displacement), 1.0);
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
  EXPECT_LT(distance_between(r.displacement.to_host(ctx), expected.displacement.to_host(cpu)).mean,
            parity_mean_voxels);
}

TEST_P(Flow, TheGaussiansDifferInRoundingAlone) {
  const Phantom p = usual_phantom(false);
  FlowOptions o = quick();
  o.iterations = {20, 6};
  o.smoother = Smoother::separable;
  const RegistrationResult expected = run(cpu, p, o);
  o.smoother = Smoother::fft;
  EXPECT_LT(
      distance_between(run(ctx, p, o).displacement.to_host(ctx), expected.displacement.to_host(cpu))
          .mean,
      parity_mean_voxels);
}

TEST_P(Flow, RecoversAKnownWarpAcrossContrasts) {
  const Phantom p = usual_phantom(true);
  EXPECT_LT(p.error(ctx, run(ctx, p, quick(SimilarityKind::mi)).displacement), 0.9);
}

TEST_P(Flow, AThinVolumeIsOrdinary) {
  const Phantom p = thin_phantom(false);
  FlowOptions o = quick();
  o.levels = 3;
  o.iterations = {40, 40, 12};
  const RegistrationResult r = run(ctx, p, o);
  EXPECT_LT(p.error(ctx, r.displacement), 1.5);
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
}

TEST_P(Flow, StartsFromAnAffine) {
  Phantom p = usual_phantom(false);
  FlowOptions o = quick();
  move_away(p, o);
  EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.9);
}

TEST_P(Flow, StartsFromADisplacement) {
  const Phantom p = usual_phantom(false);
  FlowOptions o = quick();
  EXPECT_LT(distance_from_start(ctx, p, o), 1e-9);
  EXPECT_LT(distance_from_start(ctx, p, o, true), 0.01);
  EXPECT_LT(distance_from_start(ctx, p, o, true, 3), 0.1) << "sampled on the coarsest grid";
  DemonsOptions demons = quick<DemonsOptions>();
  demons.kind = DemonsKind::esm;
  EXPECT_LT(distance_from_start(ctx, p, demons), 1e-9);
  demons.kind = DemonsKind::log;
  EXPECT_THROW(distance_from_start(ctx, p, demons), InvalidArgument) << "it has no velocity";
  o.symmetric = true;
  EXPECT_THROW(distance_from_start(ctx, p, o), InvalidArgument);
}

TEST_P(Flow, MasksAndNanLeaveVoxelsOut) {
  Phantom p = usual_phantom(false);
  const Volume<float> mask = shell_and_mask(ctx, p);
  for (int i = 0; i < 200; ++i) p.m[i] = NAN;
  Masks masks;
  masks.fixed = &mask;
  EXPECT_LT(p.error(ctx, run(ctx, p, quick(), masks).displacement), 0.9);
}

TEST_P(Flow, NoStepIsLongerThanAsked) {
  const Phantom p = usual_phantom(false);
  for (const double step : {0.1, 0.5}) {
    FlowOptions o = quick();
    o.levels = 1;
    o.iterations = {1};
    o.step = step;
    o.sigma_field = {{0}};
    const double longest = longest_motion(ctx, run(ctx, p, o).displacement);
    EXPECT_LE(longest, step * (1 + 1e-5));
    EXPECT_GT(longest, 0.5 * step);
  }
}

TEST_P(Flow, ThinVoxelsOfASlabDoNotHoldItsStepsBack) {
  const Extent n{12, 24, 24};
  Geometry grid = plain_geometry(n);
  grid.spacing = {0.5, 2, 2};  // its smallest face is 1 mm wide
  const auto image = [&](double shift) {
    return Volume<float>(ctx, grid, voxelwise(n, [&](int x, int y, int z) {
                           return std::sin(0.5 * (y + shift)) + std::cos(0.4 * z) + 0.02 * x;
                         }));
  };
  FlowOptions o = quick();
  o.levels = 1;
  o.iterations = {1};
  o.step = 0.5;
  o.sigma_field = {{0}};
  const RegistrationResult r = register_flow(ctx, image(1), image(0), o);
  EXPECT_DOUBLE_EQ(r.levels[0].iterations[1].step_mm, 0.5);
  double longest_mm = 0;
  const std::vector<float> u = r.displacement.to_host(ctx);
  for (std::size_t i = 0; i < n.count(); ++i)
    longest_mm =
        std::max(longest_mm,
                 double(std::hypot(0.5f * u[i], 2 * u[i + n.count()], 2 * u[i + 2 * n.count()])));
  EXPECT_GT(longest_mm, 0.5 * 0.5) << "a step of the smallest side";
  EXPECT_LE(longest_mm, 0.5 * (1 + 1e-5));
}

TEST_P(Flow, SmoothsTheFieldByTheVoxelsOfEachAxis) {
  const Phantom p = in_order(usual_phantom(false), false);
  ASSERT_GT(p.fixed.spacing.maxCoeff(), 1.2 * p.fixed.spacing.minCoeff());
  const auto after_one_step = [&](Sigma field) {
    FlowOptions o = quick();
    o.levels = 1;
    o.iterations = {1};
    o.sigma_field = {field};
    return run(ctx, p, o).displacement;
  };
  DisplacementField moved = after_one_step({0}), expected(ctx, p.fixed);
  GaussianFilter(ctx, p.fixed.extent, Eigen::Vector3d::Constant(1.5))
      .apply(ctx, moved.view(), expected.view());
  EXPECT_EQ(after_one_step({1.5}).to_host(ctx), expected.to_host(ctx));
  EXPECT_NE(after_one_step({1.5 * p.fixed.spacing.minCoeff(), true}).to_host(ctx),
            expected.to_host(ctx));
}

TEST_P(Flow, GivesTheSameBitsEveryTimeAndOnEveryDevice) {
  const Phantom p = usual_phantom(false);
  for (const Smoother smoother : {Smoother::separable, Smoother::recursive}) {
    FlowOptions o = quick();
    o.smoother = smoother;
    o.sigma_field = {{3, true}};
    o.iterations = {15, 5};
    expect_same_bits_everywhere(ctx, p, o);
  }
}

TEST_P(Flow, WaitsOncePerIterationAndAllocatesOnlyPerLevel) {
  WaitCounter counter(ctx);
  for (const SimilarityKind kind : {SimilarityKind::lncc, SimilarityKind::mi})
    for (const LevelRecord& level :
         run(ctx, usual_phantom(false), quick(kind), {}, &counter).levels)
      EXPECT_EQ(std::size_t(level.evaluations), level.iterations.size());
}

TEST_P(Flow, PredictionIsNeverTooSmall) {
  const Phantom p = usual_phantom(false);
  for (const SimilarityKind kind : {SimilarityKind::nmi, SimilarityKind::cr, SimilarityKind::ssd,
                                    SimilarityKind::lncc, SimilarityKind::mind})
    for (int levels : {1, 3}) {
      SCOPED_TRACE(int(kind));
      FlowOptions o = quick(kind);
      DemonsOptions demons = quick<DemonsOptions>(kind);
      o.levels = demons.levels = levels;
      o.iterations = demons.iterations = {1};
      if (kind == SimilarityKind::ssd) o.smoother = demons.smoother = Smoother::fft;
      if (kind == SimilarityKind::lncc && levels == 1) o.velocity = VelocityKind::navier;
      expect_memory_as_predicted(GetParam(), p, o);
      expect_memory_as_predicted(GetParam(), p, demons);
    }
}

TEST_P(Flow, ConvergesAndSaysSo) {
  FlowOptions o = quick();
  o.levels = 1;
  o.iterations = {1000};
  o.tolerance = 0.01;
  const RegistrationResult r = run(ctx, usual_phantom(false), o);
  EXPECT_EQ(r.levels[0].stopped_because, "converged");
  EXPECT_LT(r.levels[0].iterations.size(), 200u);
}

TEST_P(Flow, SaysWhyItCannot) {
  const Phantom p = usual_phantom(false);
  expect_hopeless_images_refused(ctx, p, quick());
  const auto refuses = [&](auto&& change) {
    FlowOptions o = quick();
    change(o);
    EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  };
  refuses([](FlowOptions& o) { o.step = 2; });
  refuses([](FlowOptions& o) { o.step = NAN; });
  refuses([](FlowOptions& o) { o.sigma_update.value = 0; });
  refuses([](FlowOptions& o) { o.sigma_field = {{-1}}; });
  refuses([](FlowOptions& o) { o.sigma_field = {{1}, {1}, {1}}; });
  refuses([](FlowOptions& o) { o.iterations = {1, 2, 3}; });
  refuses([](FlowOptions& o) { o.kl = -1; });
  DemonsOptions thirion = quick<DemonsOptions>();
  thirion.kind = DemonsKind::thirion;
  thirion.symmetric = true;
  EXPECT_THROW(run(ctx, p, thirion), InvalidArgument);
  FlowOptions three_of_four;
  three_of_four.levels = 4;
  three_of_four.sigma_field = {{1}, {1}, {1}};
  EXPECT_THROW(predict_run(ctx, p, three_of_four), InvalidArgument);
}

TEST_P(Flow, StopsWhenAsked) {
  Impatient observer;
  EXPECT_THROW(run(ctx, usual_phantom(false), quick(), {}, &observer), Cancelled);
  EXPECT_EQ(observer.asked, 4);
}

}  // namespace
}  // namespace freeflow
