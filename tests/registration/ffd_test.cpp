// The whole free-form registration on phantoms with a known deformation, on every device.
#include <freeflow/registration/ffd/ffd.h>

#include <freeflow/deform/warp.h>
#include <freeflow/registration/levels/pyramid.h>
#include <freeflow/registration/register_images.h>
#include <freeflow/regularize/unfold.h>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

FfdOptions quick() {
  FfdOptions o;
  o.levels = 2;
  o.spacing = {8, true};
  o.iterations = {60, 15};
  return o;
}

class Ffd : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Ffd);

TEST_P(Ffd, RecoversAKnownWarpAcrossContrasts) {
  const Phantom p = usual_phantom();
  const RegistrationResult r = run(ctx, p, quick());
  EXPECT_GT(p.error_before(), 3.4);
  EXPECT_LT(p.error(ctx, r.displacement), 0.6);
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
  EXPECT_LT(r.inverse->residual.mean_voxels, inverse_mean_voxels);
  EXPECT_GT(r.overlap_after, 0.9);
  ASSERT_EQ(r.levels.size(), 2u);
  for (const LevelRecord& level : r.levels) EXPECT_FALSE(level.stopped_because.empty());
}

TEST_P(Ffd, SsdRecoversAKnownWarpOfOneContrast) {
  const Phantom p = usual_phantom(false);
  FfdOptions o = quick();
  o.similarity.kind = SimilarityKind::ssd;
  o.bending = 0.01;
  o.log_jacobian = 0;
  EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.6);
}

TEST_P(Ffd, EveryMeasureRecoversAKnownWarp) {
  const Phantom p = usual_phantom(false);
  for (const SimilarityKind kind : {SimilarityKind::nmi, SimilarityKind::mi, SimilarityKind::cr,
                                    SimilarityKind::lncc, SimilarityKind::mind}) {
    FfdOptions o = quick();
    o.similarity.kind = kind;
    EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.8) << int(kind);
  }
}

TEST_P(Ffd, EveryEstimatorRecoversAKnownWarp) {
  const Phantom p = usual_phantom();
  for (const Estimator estimator :
       {Estimator::parzen_both, Estimator::partial_volume, Estimator::hard}) {
    FfdOptions o = quick();
    o.similarity.estimator = estimator;
    EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.9) << int(estimator);
  }
}

TEST_P(Ffd, EveryOptimizerGetsThere) {
  const Phantom p = usual_phantom();
  for (const OptimizerKind kind : {OptimizerKind::gradient, OptimizerKind::cg}) {
    FfdOptions o = quick();
    o.optimizer = kind;
    EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 1.2);
  }
}

TEST_P(Ffd, AThinVolumeIsOrdinary) {
  const Phantom p = thin_phantom(true);
  FfdOptions o = quick();
  o.levels = 3;
  o.iterations = {60, 60, 15};
  EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 1.2);
}

TEST_P(Ffd, StartsFromAnAffine) {
  Phantom p = usual_phantom();
  FfdOptions o = quick();
  move_away(p, o);
  EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.6);
}

TEST_P(Ffd, StartsFromADisplacement) {
  EXPECT_LT(distance_from_start(ctx, usual_phantom(), quick()), 0.02);
  EXPECT_LT(distance_from_start(ctx, usual_phantom(), quick(), true), 0.02);
  EXPECT_LT(distance_from_start(ctx, usual_phantom(), quick(), true, 3), 0.2)
      << "the coarsest lattice takes it";
}

TEST_P(Ffd, MasksAndNanLeaveVoxelsOut) {
  Phantom p = usual_phantom();
  const Volume<float> mask = shell_and_mask(ctx, p);
  for (int i = 0; i < 200; ++i) p.m[i] = NAN;
  Masks masks;
  masks.fixed = &mask;
  EXPECT_LT(p.error(ctx, run(ctx, p, quick(), masks).displacement), 0.6);
}

TEST_P(Ffd, GivesTheSameBitsEveryTimeAndOnEveryDevice) {
  expect_same_bits_everywhere(ctx, usual_phantom(), quick(), {2, 3});
}

TEST_P(Ffd, SlabsTakeLessMemoryForTheSameBits) {
  const Phantom p = usual_phantom();
  FfdOptions whole = quick(), slabs = quick();
  whole.with_inverse = slabs.with_inverse = false;
  whole.similarity.kind = slabs.similarity.kind = SimilarityKind::nmi;
  slabs.slab_voxels = 5 * std::size_t(p.fixed.extent.x) * p.fixed.extent.y;
  const std::vector<float> expected = run(ctx, p, whole).displacement.to_host(ctx),
                           found = run(ctx, p, slabs).displacement.to_host(ctx);
  EXPECT_TRUE(found == expected);
  EXPECT_LT(predict_run(ctx, p, slabs), predict_run(ctx, p, whole));
  expect_same_bits_everywhere(ctx, p, slabs, {2, 3});
}

TEST_P(Ffd, PredictsItsMemory) {
  const Phantom p(centred(oblique_geometry({90, 80, 60}, {1, 1, 1})),
                  centred(oblique_geometry({80, 90, 60}, {1, 1, 1})), true);
  FfdOptions o;
  o.iterations = {2};
  ctx.reset_peak();
  run(ctx, p, o);
  const double used = double(ctx.statistics().peak_bytes),
               predicted = double(predict_run(ctx, p, o));
  EXPECT_GE(predicted, used);
  EXPECT_LT(predicted, 1.1 * used);
}

constexpr SimilarityKind every_similarity[] = {SimilarityKind::nmi,  SimilarityKind::mi,
                                               SimilarityKind::cr,   SimilarityKind::ssd,
                                               SimilarityKind::lncc, SimilarityKind::mind};

TEST_P(Ffd, PredictionIsNeverTooSmall) {
  for (const Phantom& p : {thin_phantom(true), usual_phantom()})
    for (const SimilarityKind kind : every_similarity)
      for (int levels : {1, 3, 8}) {
        SCOPED_TRACE(std::to_string(int(kind)) + ", levels " + std::to_string(levels));
        FfdOptions o;
        o.similarity.kind = kind;
        o.levels = levels;
        o.iterations = {1};
        expect_memory_as_predicted(GetParam(), p, o, true);
      }
}

TEST_P(Ffd, ManyLevelsOnASmallImageStaySmall) {
  Context fresh(GetParam());
  const Phantom p(centred(plain_geometry({24, 22, 20}, 2.5)),
                  centred(plain_geometry({24, 22, 20}, 2.5)), false);
  FfdOptions o;
  o.levels = 8;
  o.iterations = {3};
  run(fresh, p, o);
  EXPECT_LT(fresh.statistics().peak_bytes, 8u << 20);
}

TEST_P(Ffd, OneHotVoxelChangesLittle) {
  Phantom p = usual_phantom();
  p.m[100] = 1e6f;
  p.f[20] = 1e6f;
  EXPECT_LT(p.error(ctx, run(ctx, p, quick()).displacement), 0.6);
}

/// One slice says little of what crosses it; in its own plane the displacement must be found.
TEST_P(Ffd, AMaskOfOneSliceSurvivesTheCoarseLevels) {
  const Phantom p = usual_phantom();
  const int slice = 11;
  const Volume<float> mask(ctx, p.fixed,
                           voxelwise(p.fixed.extent, [](int, int, int z) { return z == slice; }));
  Masks masks;
  masks.fixed = &mask;
  const DisplacementField u = run(ctx, p, quick(), masks).displacement;
  const std::vector<float> found = u.to_host(ctx), truth = true_planes(p.fixed);
  const Extent n = p.fixed.extent;
  double error = 0, motion = 0, count = 0;
  for (int y = 0; y < n.y; ++y)
    for (int x = 0; x < n.x; ++x) {
      if ((p.fixed.index_to_world() * Eigen::Vector3d(x, y, slice)).norm() > 20) continue;
      const std::size_t i = n.offset(x, y, slice);
      Eigen::Vector2d off, moved;
      for (int a = 0; a < 2; ++a) {
        const double side = p.fixed.spacing[a];
        moved[a] = side * truth[i + a * n.count()];
        off[a] = side * found[i + a * n.count()] - moved[a];
      }
      error += off.norm();
      motion += moved.norm();
      count += 1;
    }
  EXPECT_GT(motion / count, 2.5);
  EXPECT_LT(error / count, 0.35);
}

TEST_P(Ffd, WaitsOncePerEvaluationAndAllocatesOnlyPerLevel) {
  WaitCounter counter(ctx);
  const RegistrationResult r = run(ctx, usual_phantom(), quick(), {}, &counter);
  for (const LevelRecord& level : r.levels)
    EXPECT_LT(level.evaluations, 1.3 * double(level.iterations.size()));
}

TEST_P(Ffd, SaysWhyItCannot) {
  const Phantom p = usual_phantom();
  expect_hopeless_images_refused(ctx, p, quick());
  FfdOptions o = quick();
  o.iterations = {1, 2, 3};
  EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  o = quick();
  o.levels = 0;
  EXPECT_THROW(predict_run(ctx, p, o), InvalidArgument);
  o = quick();
  o.bending = INFINITY;
  EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  o = quick();
  o.spacing.value = -1;
  EXPECT_THROW(run(ctx, p, o), InvalidArgument);
}

TEST_P(Ffd, StopsWhenAsked) {
  Impatient observer;
  EXPECT_THROW(run(ctx, usual_phantom(), quick(), {}, &observer), Cancelled);
  EXPECT_EQ(observer.asked, 4);
}

TEST_P(Ffd, UnfoldingASampledLatticeRemovesEveryFoldAndTouchesNothingFarAway) {
  const Geometry g = plain_geometry({64, 40, 40});
  ControlPointGrid lattice(ctx, g, Eigen::Vector3d::Constant(5), Eigen::Vector3d::Zero());
  std::vector<float> c(lattice.coefficients().size(), 0.0f);
  const Extent n = lattice.extent();
  const std::size_t node = (std::size_t(n.z / 2) * n.y + n.y / 2) * n.x + 3;
  c[node] = 25;
  c[node + 1] = -25;
  lattice.coefficients() = Buffer<float>(ctx, c);
  for (const double bound : {0.05, UnfoldOptions{}.bound}) {
    DisplacementField u(ctx, g);
    SplineSampler(ctx, lattice, g).evaluate(ctx, std::as_const(lattice).view(), u.view());
    const UnfoldResult r = unfold(ctx, u, {bound});
    EXPECT_GT(r.voxels_before, 0u);
    EXPECT_EQ(r.voxels_after, 0u);
    EXPECT_GT(jacobian_statistics(ctx, u).min, bound);
    EXPECT_GE(jacobian_statistics(ctx, u).corner_min, bound);
    const std::vector<float> after = u.to_host(ctx);
    for (std::size_t i = 59; i < after.size(); i += 64) ASSERT_EQ(after[i], 0.0f);
  }
}

TEST(SeveralGpus, OneThreadMayUseThemInTurn) {
  const std::vector<Device> devices = available_devices();
  if (devices.size() < 3) GTEST_SKIP() << "needs two GPUs, here are " << devices.size() - 1;
  const Phantom p = usual_phantom();
  Context first(devices[1]), second(devices[2]);
  const Volume<float> f1(first, p.fixed, p.f), m1(first, p.moving, p.m), f2(second, p.fixed, p.f),
      m2(second, p.moving, p.m);
  const RegistrationResult a = register_ffd(first, f1, m1, quick()),
                           b = register_ffd(second, f2, m2, quick());
  EXPECT_EQ(a.displacement.to_host(first), b.displacement.to_host(second));
}

TEST(Pyramid, ThinVolumesKeepTheirSlices) {
  Geometry g = plain_geometry({166, 195, 25});
  g.spacing = {1.37, 1.37, 4};
  EXPECT_EQ(pyramid_factors(g, 3), (std::vector<Factors>{{4, 4, 1}, {2, 2, 1}, {1, 1, 1}}));
  EXPECT_EQ(pyramid_factors(plain_geometry({160, 192, 224}), 3),
            (std::vector<Factors>{{4, 4, 4}, {2, 2, 2}, {1, 1, 1}}));
  EXPECT_EQ(pyramid_factors(plain_geometry({20, 20, 20}), 4).front(), (Factors{2, 2, 2}));
  EXPECT_EQ(pyramid_factors(plain_geometry({16, 15, 32}), 4).front(), (Factors{2, 1, 4}))
      << "eight voxels at least";
  // A spacing doubles where that brings it nearer in ratio: 3.5 of 5.5 does, 4 does not.
  g = plain_geometry({64, 64, 64});
  g.spacing = {1.375, 3.5, 4};
  EXPECT_EQ(pyramid_factors(g, 3).front(), (Factors{4, 2, 1}));
}

TEST(Pyramid, RegistrationBeginsWhereTwoAxesHaveVoxelsEnough) {
  EXPECT_EQ(first_trusted_level(plain_geometry({200, 264, 272}), 4), 0);  // 25x33x34
  EXPECT_EQ(first_trusted_level(plain_geometry({200, 256, 272}), 4), 1);
  EXPECT_EQ(first_trusted_level(plain_geometry({132, 6, 136}), 3), 0);
  EXPECT_EQ(first_trusted_level(plain_geometry({131, 6, 136}), 3), 1);
  EXPECT_EQ(first_trusted_level(plain_geometry({64, 48, 40}), 3), 1)
      << "32x24x20 before the finest";
  EXPECT_EQ(first_trusted_level(plain_geometry({40, 30, 20}), 3), 1)
      << "20x15x10 before the finest";
  EXPECT_EQ(first_trusted_level(plain_geometry({64, 60, 40}), 3), 1)
      << "16x15x10 would do if there were none of 32x30x20";
  EXPECT_EQ(first_trusted_level(plain_geometry({40, 28, 20}), 3), 2);
  EXPECT_EQ(first_trusted_level(plain_geometry({12, 14, 16}), 3), 2);
  EXPECT_EQ(first_trusted_level(plain_geometry({12, 14, 16}), 1), 0);
}

TEST_P(Ffd, IterationsForEachLevelLeaveNoneOut) {
  const Geometry g = plain_geometry({40, 28, 20});  // of which the finest level alone is trusted
  const Volume<float> image =
      sample_world(ctx, g, [&](const Eigen::Vector3d& p) { return texture(p - g.center()); });
  FfdOptions o;
  o.levels = 3;
  o.iterations = {1};
  const auto levels_run = [&] {
    return register_images(ctx, image, image, {o, std::nullopt}).levels.size();
  };
  EXPECT_EQ(levels_run(), 1u);
  o.iterations = {1, 1, 1};
  EXPECT_EQ(levels_run(), 3u);
  const Geometry wider = plain_geometry({40, 36, 20});  // 20x18x10 before the finest
  const Volume<float> other = sample_world(ctx, wider, texture);
  o.iterations = {1};
  for (const int first : {0, 2}) {
    o.first_level = first;
    EXPECT_EQ(register_images(ctx, other, other, {o, std::nullopt}).levels.size(),
              first == 2 ? 1u : 2u)
        << "a level that is asked for";
  }
}

TEST_P(Ffd, ALevelOfFewVoxelsIsComparedAsTheFinest) {
  const Geometry g = plain_geometry({40, 36, 20});  // and 20x18x10 before it
  const auto image = [&](const Eigen::Vector3d& shift) {
    return sample_world(ctx, g,
                        [&](const Eigen::Vector3d& p) { return texture(p - g.center() + shift); });
  };
  const Volume<float> fixed = image({0, 0, 0}), moving = image({1.5, 0.5, -1});
  FfdOptions automatic;
  automatic.similarity.kind = SimilarityKind::automatic;
  automatic.iterations = {4};
  FfdOptions finest = automatic;
  finest.similarity.sum = *parse_similarity_sum("lncc+0.3nmi");
  const auto found = [&](const FfdOptions& o, bool every_level) {
    RegistrationOptions options{o, std::nullopt, StartKind::none};
    options.every_level = every_level;
    return register_images(ctx, fixed, moving, options).displacement.to_host(ctx);
  };
  EXPECT_EQ(found(automatic, false), found(finest, false));
  EXPECT_NE(found(automatic, true), found(finest, true));
}

TEST(Pyramid, AMovingImageOfLargerVoxelsIsNoCoarserThanTheLevel) {
  const Geometry fine = plain_geometry({180, 180, 180});
  Geometry coarse = plain_geometry({60, 60, 60});
  coarse.spacing.setConstant(3);
  EXPECT_EQ(moving_pyramid_factors(coarse, fine, 1, 4),
            (std::vector<Factors>{{2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}));
  // Of a larger species, of which three millimetres meet one of the fixed image.
  EXPECT_EQ(moving_pyramid_factors(coarse, fine, 3, 3), pyramid_factors(coarse, 3));
  // Of smaller voxels it shows more than the fixed one, down to its own on the finest level.
  EXPECT_EQ(moving_pyramid_factors(fine, coarse, 1, 3), pyramid_factors(fine, 3));
}

}  // namespace
}  // namespace freeflow
