// The compositive flow on phantoms with a known deformation, on every device.
#include <freeflow/registration/flow.h>

#include <freeflow/registration/unfold.h>

#include "support/devices.h"
#include "support/tolerances.h"
#include "support/warped_phantom.h"

namespace freeflow {
namespace {

using namespace test;

FlowOptions quick(SimilarityKind kind = SimilarityKind::lncc) {
  FlowOptions o;
  o.similarity.kind = kind;
  o.levels = 2;
  o.iterations = {40};
  return o;
}

RegistrationResult run(Context& ctx, const Phantom& p, const FlowOptions& options, const Masks& masks = {}, Observer* observer = nullptr) {
  return register_flow(ctx, Volume<float>(ctx, p.fixed, p.f), Volume<float>(ctx, p.moving, p.m), options, masks, observer);
}

/// The mean over all components of the difference of two fields.
double mean_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / double(a.size());
}

class Flow : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Flow);

TEST_P(Flow, EveryMeasureRecoversAKnownWarp) {
  const Phantom p = usual_phantom(false);
  EXPECT_GT(p.error_before(), 3.4);
  for (const SimilarityKind kind :
       {SimilarityKind::lncc, SimilarityKind::ssd, SimilarityKind::nmi, SimilarityKind::mi, SimilarityKind::cr}) {
    const RegistrationResult r = run(ctx, p, quick(kind));
    EXPECT_LT(p.error(ctx, r.displacement), 0.9) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u) << int(kind);
    EXPECT_LT(r.inverse.residual.mean_voxels, inverse_mean_voxels) << int(kind);
    ASSERT_EQ(r.levels.size(), 2u);
    for (const LevelRecord& level : r.levels) EXPECT_LT(level.iterations.back().cost, level.iterations.front().cost) << int(kind);
  }
}

TEST_P(Flow, DemonsRecoverAKnownWarpWithAnInverse) {
  const Phantom p = usual_phantom(false);
  for (const SimilarityKind kind : {SimilarityKind::ssd, SimilarityKind::lncc}) {
    FlowOptions o = quick(kind);
    o.model = FlowModel::demons;
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_LT(p.error(ctx, r.displacement), 0.9) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u);
    EXPECT_LT(r.inverse.residual.mean_voxels, inverse_mean_voxels);
    Context two({}, 2);
    EXPECT_EQ(run(two, p, o).displacement.to_host(two), r.displacement.to_host(ctx));
  }
}

TEST_P(Flow, EveryKindOfDemonsRecoversAKnownWarp) {
  const Phantom p = usual_phantom(false);
  for (const DemonsKind kind : {DemonsKind::esm, DemonsKind::thirion}) {
    FlowOptions o = quick(SimilarityKind::ssd);
    o.model = FlowModel::demons;
    o.demons = kind;
    const RegistrationResult r = run(ctx, p, o);
    EXPECT_LT(p.error(ctx, r.displacement), 1.0) << int(kind);
    EXPECT_EQ(r.jacobian.folded_voxels, 0u) << int(kind);
    EXPECT_EQ(r.displacement.to_host(ctx), run(cpu, p, o).displacement.to_host(cpu)) << int(kind);
  }
}

TEST_P(Flow, SwappedImagesOfASymmetricFlowGiveTheInverseToTheBit) {
  Phantom p = usual_phantom(false), q = p;
  q.moving = p.moving = p.fixed;
  Context host;
  p.m = sample_world(host, p.fixed, [](const Eigen::Vector3d& x) { return head(x, 26); }).to_host(host);
  q.f = p.m, q.m = p.f;
  for (const auto& [kind, model] : {std::pair{SimilarityKind::lncc, FlowModel::compositive},
                                    {SimilarityKind::nmi, FlowModel::compositive},
                                    {SimilarityKind::ssd, FlowModel::demons}}) {
    FlowOptions o = quick(kind);
    o.model = model;
    o.symmetric = true;
    o.iterations = {20};
    const RegistrationResult a = run(ctx, p, o), b = run(ctx, q, o);
    EXPECT_EQ(a.displacement.to_host(ctx), b.inverse.field.to_host(ctx)) << int(kind);
    EXPECT_EQ(a.inverse.field.to_host(ctx), b.displacement.to_host(ctx)) << int(kind);
    EXPECT_EQ(a.levels[1].iterations.back().cost, b.levels[1].iterations.back().cost) << int(kind);
    EXPECT_LT(a.inverse.residual.mean_voxels, inverse_mean_voxels);
    EXPECT_EQ(a.jacobian.folded_voxels, 0u);
    EXPECT_LT(p.error(ctx, a.displacement), 1.2) << int(kind);
  }
}

TEST_P(Flow, ASymmetricFlowTakesAnyGridsAndPredictsItsMemory) {
  const Phantom p = usual_phantom(false);
  for (const double kl : {0.0, 0.01}) {
    Context fresh(GetParam());
    FlowOptions o = quick(SimilarityKind::ssd);
    o.symmetric = true;
    o.kl = kl;
    const RegistrationResult r = run(fresh, p, o);
    EXPECT_LT(p.error(fresh, r.displacement), 1.2);
    EXPECT_LT(r.inverse.residual.mean_voxels, inverse_mean_voxels);
    EXPECT_LE(fresh.statistics().peak_bytes, predict_flow_bytes(fresh, p.fixed, p.moving, o));
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
  EXPECT_LT(mean_distance(r.displacement.to_host(ctx), expected.displacement.to_host(cpu)), parity_mean_voxels);
}

TEST_P(Flow, TheGaussiansDifferInRoundingAlone) {
  const Phantom p = usual_phantom(false);
  FlowOptions o = quick();
  o.smoother = Smoother::separable;
  const RegistrationResult expected = run(cpu, p, o);
  o.smoother = Smoother::fft;
  EXPECT_LT(mean_distance(run(ctx, p, o).displacement.to_host(ctx), expected.displacement.to_host(cpu)), parity_mean_voxels);
}

TEST_P(Flow, RecoversAKnownWarpAcrossContrasts) {
  const Phantom p = usual_phantom(true);
  EXPECT_LT(p.error(ctx, run(ctx, p, quick(SimilarityKind::mi)).displacement), 0.9);
}

TEST_P(Flow, AThinVolumeIsOrdinary) {
  const Phantom p(centred(oblique_geometry({46, 50, 9}, {1.4, 1.3, 7})), centred(oblique_geometry({48, 48, 10}, {1.4, 1.4, 6.5})), false);
  FlowOptions o = quick();
  o.levels = 3;
  const RegistrationResult r = run(ctx, p, o);
  EXPECT_LT(p.error(ctx, r.displacement), 1.5);
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
}

TEST_P(Flow, StartsFromAnAffine) {
  Phantom p = usual_phantom(false);
  FlowOptions o = quick();
  o.initial.translation() = Eigen::Vector3d(40, -30, 20);
  p.moving.origin += Eigen::Vector3d(40, -30, 20);
  EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.9);
}

TEST_P(Flow, MasksAndNanLeaveVoxelsOut) {
  Phantom p = usual_phantom(false);
  const Eigen::Affine3d world = p.fixed.index_to_world();
  const Volume<float> mask(ctx, p.fixed,
                           voxelwise(p.fixed.extent, [&](int x, int y, int z) { return (world * Eigen::Vector3d(x, y, z)).norm() < 32; }));
  p.f = voxelwise(p.fixed.extent, [&](int x, int y, int z) {
    const double r = (world * Eigen::Vector3d(x, y, z)).norm();
    return r > 34 ? 30.0 : double(p.f[(std::size_t(z) * 44 + y) * 40 + x]);
  });
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
    const std::vector<float> u = run(ctx, p, o).displacement.to_host(ctx);
    const std::size_t n = p.fixed.extent.count();
    const Eigen::Vector3d sides = p.fixed.spacing / p.fixed.spacing.minCoeff();
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i)
      largest = std::max(largest, sides.cwiseProduct(Eigen::Vector3d(u[i], u[i + n], u[i + 2 * n])).norm());
    EXPECT_LE(largest, step * (1 + 1e-5));
    EXPECT_GT(largest, 0.5 * step);
  }
}

TEST_P(Flow, GivesTheSameBitsEveryTimeAndOnEveryDevice) {
  const Phantom p = usual_phantom(false);
  for (const Smoother smoother : {Smoother::separable, Smoother::recursive}) {
    FlowOptions o = quick();
    o.smoother = smoother;
    o.sigma_field = {{3, true}};
    o.iterations = {15};
    const auto bits = [&](Context& c) {
      const RegistrationResult r = run(c, p, o);
      std::vector<float> all = r.displacement.to_host(c), inverse = r.inverse.field.to_host(c);
      all.insert(all.end(), inverse.begin(), inverse.end());
      return all;
    };
    Context one({}, 1), three({}, 3);
    const std::vector<float> expected = bits(one);
    EXPECT_EQ(bits(ctx), expected);
    EXPECT_EQ(bits(ctx), expected);
    EXPECT_EQ(bits(three), expected);
  }
}

TEST_P(Flow, WaitsOncePerIterationAndAllocatesOnlyPerLevel) {
  struct Counter : Observer {
    explicit Counter(Context& c) : ctx(c) {}
    void on_iteration(const LevelRecord& level) override {
      const ContextStatistics& s = ctx.statistics();
      if (level.iterations.size() > 1) {
        EXPECT_EQ(s.allocations, allocations);
        EXPECT_EQ(s.synchronizations - synchronizations, 1u);
      }
      allocations = s.allocations, synchronizations = s.synchronizations;
    }
    Context& ctx;
    std::size_t allocations = 0, synchronizations = 0;
  } counter(ctx);
  for (const SimilarityKind kind : {SimilarityKind::lncc, SimilarityKind::mi}) run(ctx, usual_phantom(false), quick(kind), {}, &counter);
}

TEST_P(Flow, PredictionIsNeverTooSmall) {
  const Phantom p = usual_phantom(false);
  for (const SimilarityKind kind : {SimilarityKind::nmi, SimilarityKind::cr, SimilarityKind::ssd, SimilarityKind::lncc})
    for (int levels : {1, 3}) {
      Context fresh(GetParam());
      FlowOptions o = quick(kind);
      o.levels = levels;
      o.iterations = {1};
      o.model = levels == 3 ? FlowModel::demons : FlowModel::compositive;
      if (kind == SimilarityKind::ssd) o.smoother = Smoother::fft;
      if (kind == SimilarityKind::lncc && levels == 1) o.velocity = VelocityKind::navier;
      run(fresh, p, o);
      EXPECT_LE(fresh.statistics().peak_bytes, predict_flow_bytes(fresh, p.fixed, p.moving, o)) << int(kind);
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
  Phantom p = usual_phantom(false);
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
  refuses([](FlowOptions& o) { o.model = FlowModel::fluid, o.symmetric = true; });
  refuses([](FlowOptions& o) { o.model = FlowModel::demons, o.demons = DemonsKind::thirion, o.symmetric = true; });
  refuses([](FlowOptions& o) { o.model = FlowModel::demons, o.kl = 1; });
  FlowOptions three_of_four;
  three_of_four.levels = 4;
  three_of_four.sigma_field = {{1}, {1}, {1}};
  EXPECT_THROW(predict_flow_bytes(ctx, p.fixed, p.moving, three_of_four), InvalidArgument);
  FlowOptions o = quick();
  o.initial.translation().x() = 1000;
  EXPECT_THROW(run(ctx, p, o), RegistrationError);
  std::fill(p.m.begin(), p.m.end(), 3.0f);
  EXPECT_THROW(run(ctx, p, quick()), RegistrationError);
}

TEST_P(Flow, StopsWhenAsked) {
  struct Impatient : Observer {
    bool stop_requested() override { return ++asked > 3; }
    int asked = 0;
  } observer;
  EXPECT_THROW(run(ctx, usual_phantom(false), quick(), {}, &observer), Cancelled);
  EXPECT_EQ(observer.asked, 4);
}

TEST_P(Flow, UnfoldingADenseFieldTouchesNothingFarAway) {
  const Geometry g = plain_geometry({40, 24, 24});
  std::vector<float> planes(3 * g.extent.count(), 0.0f);
  const std::size_t fold = (std::size_t(12) * 24 + 12) * 40 + 8;
  planes[fold] = 4, planes[fold + 1] = -4;
  DisplacementField u(ctx, g, planes);
  const UnfoldResult r = unfold(ctx, u);
  EXPECT_GT(r.voxels_before, 0u);
  EXPECT_EQ(r.voxels_after, 0u);
  EXPECT_GT(jacobian_statistics(ctx, u).min, 0.05);
  const std::vector<float> after = u.to_host(ctx);
  for (std::size_t i = 30; i < after.size(); i += 40) ASSERT_EQ(after[i], 0.0f);
}

}  // namespace
}  // namespace freeflow
