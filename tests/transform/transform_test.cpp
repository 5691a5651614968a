// Chains of affines and fields on images, labels and points, on every device.
#include <freeflow/transform/transform.h>

#include <freeflow/deform/field_algebra.h>
#include <freeflow/transform/resample.h>
#include <freeflow/transform/transform_operations.h>

#include "support/tolerances.h"
#include "transform/chains.h"

namespace freeflow {
namespace {

using namespace test;

class Transforms : public ChainsOnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Transforms);

TEST_P(Transforms, AFieldActsOnItsOwnGridAndNotBeyond) {
  Geometry g = plain_geometry({8, 8, 8});
  g.spacing = {2, 2, 2};
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int, int, int) {
                              return Eigen::Vector3d(0.5, 0, 0);  // a millimetre
                            }));
  Transform t;
  t.then(u.clone(ctx));
  const std::vector<Eigen::Vector3d> points = {{3, 3, 3}, {-0.9, 3, 3}, {-1.1, 3, 3}, {15.1, 3, 3}};
  const std::vector<Eigen::Vector3d> mapped = map_points(ctx, t, points);
  EXPECT_NEAR(mapped[0].x(), 4, 1e-6);
  EXPECT_NEAR(mapped[1].x(), 0.1, 1e-6) << "within half a voxel of the outermost centre";
  EXPECT_EQ(mapped[2].x(), -1.1) << "beyond that, ITK takes no displacement";
  EXPECT_EQ(mapped[3].x(), 15.1);
  // A grid that reaches farther sees the same.
  Geometry wide = g;
  wide.extent = {24, 8, 8};
  wide.origin.x() -= 16;
  const std::vector<float> whole = compose(ctx, t, wide).to_host(ctx);
  for (int x = 0; x < 24; ++x)
    EXPECT_FLOAT_EQ(whole[wide.extent.offset(x, 4, 4)], x < 8 || x > 15 ? 0.0f : 0.5f) << x;
}

TEST_P(Transforms, AChainIsItsPartsOneAfterAnother) {
  const Geometry grid = centred(plain_geometry({30, 28, 26}, 1.6));
  const Transform whole = chain();
  std::vector<Eigen::Vector3d> expected = points_of(grid);
  expected = map_points(ctx, Transform(whole.first()), expected);
  for (const Transform::Link& link : whole.links()) {
    Transform field;
    field.then(link.field->clone(ctx));
    expected = map_points(ctx, field, expected);
    expected = map_points(ctx, Transform(link.after), expected);
  }
  const std::vector<Eigen::Vector3d> mapped = map_points(ctx, whole, points_of(grid));
  for (std::size_t i = 0; i < mapped.size(); ++i) ASSERT_LT((mapped[i] - expected[i]).norm(), 1e-9);
  // The kernel sees what the host sees.
  Transform composed;
  composed.then(compose(ctx, whole, grid));
  const std::vector<Eigen::Vector3d> on_grid = map_points(ctx, composed, points_of(grid));
  for (std::size_t i = 0; i < mapped.size(); ++i) ASSERT_LT((mapped[i] - on_grid[i]).norm(), 1e-3);
}

TEST_P(Transforms, AChainThatIsAppendedIsAppliedAfterwards) {
  const Transform first = chain();
  Transform second(affine(-30, {2, 6, -4}));
  second.then(waves(centred(oblique_geometry({33, 30, 31}, {1.9, 2, 1.8})), 0.7));
  const std::vector<Eigen::Vector3d> points = points_of(centred(plain_geometry({20, 18, 16}, 1.6)));
  const auto expect_both = [&](const Transform& whole, const Transform& a, const Transform& b) {
    const std::vector<Eigen::Vector3d> mapped = map_points(ctx, whole, points),
                                       expected = map_points(ctx, b, map_points(ctx, a, points));
    for (std::size_t i = 0; i < points.size(); ++i)
      ASSERT_LT((mapped[i] - expected[i]).norm(), 1e-9);
  };
  Transform both = first;
  both.then(second);
  expect_both(both, first, second);
  Transform twice = second;
  twice.then(twice);
  expect_both(twice, second, second);
}

TEST_P(Transforms, BeyondAllGridsTheAffinesAreLeftInTheirOrder) {
  const Transform t = chain();
  const std::vector<Eigen::Vector3d> far = {{500, -300, 700}, {-400, 900, 100}};
  const std::vector<Eigen::Vector3d> mapped = map_points(ctx, t, far);
  for (std::size_t i = 0; i < far.size(); ++i)
    EXPECT_LT((affine_part(t) * far[i] - mapped[i]).norm(), 1e-9);
}

TEST(TransformPoints, DoNotDependOnTheNumberOfThreads) {
  const Geometry grid = centred(plain_geometry({30, 30, 30}));
  Context one(Device::parse("cpu"), 1), three(Device::parse("cpu"), 3);
  const auto transform = [&](Context& ctx) {
    return Transform(
        DisplacementField(
            ctx, grid,
            field_planes(grid.extent, [&](int x, int y, int z) { return wave(x, y, z, 3); })),
        Eigen::Affine3d::Identity());
  };
  const std::vector<Eigen::Vector3d> points = points_of(centred(plain_geometry({90, 90, 90}, 0.5)));
  EXPECT_EQ(map_points(one, transform(one), points), map_points(three, transform(three), points));
  const MappedBack a = map_points_back(one, transform(one), points);
  const MappedBack b = map_points_back(three, transform(three), points);
  EXPECT_EQ(a.points, b.points);
  EXPECT_EQ(a.largest_residual_mm, b.largest_residual_mm);
  EXPECT_EQ(a.unsolved_points, b.unsolved_points);
}

TEST_P(Transforms, AnImageIsResampledOnceThroughTheChain) {
  const Geometry grid = centred(oblique_geometry({22, 20, 18}, {2, 2.1, 1.9}));
  const Geometry moving = centred(oblique_geometry({44, 40, 38}, {1.2, 1.3, 1.4}));
  Context host;
  const auto linear = [](const Eigen::Vector3d& p) { return 3 * p.x() - 2 * p.y() + p.z() + 7; };
  const Volume<float> image(ctx, moving, sample_world(host, moving, linear).to_host(host));
  const Transform t = chain();
  const std::vector<float> out =
      resample(ctx, image, t, grid, Interpolation::linear, -1e6f).to_host(ctx);
  // A linear image through any map is that map's value: one interpolation, no blur.
  std::vector<Eigen::Vector3d> centres;
  const Eigen::Affine3d world = grid.index_to_world();
  for (int z = 0; z < grid.extent.z; ++z)
    for (int y = 0; y < grid.extent.y; ++y)
      for (int x = 0; x < grid.extent.x; ++x) centres.push_back(world * Eigen::Vector3d(x, y, z));
  const std::vector<Eigen::Vector3d> mapped = map_points(ctx, t, centres);
  const Eigen::Affine3d to_index = moving.world_to_index();
  int inside = 0;
  for (std::size_t i = 0; i < mapped.size(); ++i) {
    const Eigen::Vector3d at = to_index * mapped[i];
    if ((at.array() < 0.01).any() || at.x() > 42.9 || at.y() > 38.9 || at.z() > 36.9) continue;
    ASSERT_NEAR(out[i], linear(mapped[i]), 5e-3);
    ++inside;
  }
  EXPECT_GT(inside, 500);
  EXPECT_EQ(out, resample(ctx, image, t, grid, Interpolation::linear, -1e6f).to_host(ctx));
}

TEST_P(Transforms, LabelsOfAnyTypeSurviveExactly) {
  const std::vector<std::uint64_t> labels = {
      0, 614454277, (std::uint64_t(1) << 53) + 1, std::uint64_t(std::int64_t(-3)), 5, 5,
      0, 614454277};
  const NumberedLabels<std::uint64_t> numbered = number_labels<std::uint64_t>(labels, 9);
  EXPECT_EQ(numbered.label.size(), 6u) << "and the background";
  const Geometry g = plain_geometry({2, 2, 2});
  const std::vector<std::int32_t> out =
      resample_labels(ctx, Volume<std::int32_t>(ctx, g, numbered.number), Transform(), g)
          .to_host(ctx);
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(numbered.of(out[i]), labels[i]);
}

TEST_P(Transforms, PositionsThatAreKeptGiveTheSameBits) {
  const Geometry grid = centred(plain_geometry({30, 28, 26}, 1.6));
  const Geometry image = centred(oblique_geometry({28, 31, 25}, {1.7, 1.6, 2}));
  const Transform t = chain();
  const SamplingMap map(ctx, t, grid, image);
  std::vector<float> voxels(image.extent.count());
  std::vector<std::int32_t> labels(voxels.size());
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    voxels[i] = i % 97 == 0 ? NAN : float(i % 53);
    labels[i] = std::int32_t(i % 7);
  }
  const Volume<float> moving(ctx, image, voxels);
  const Volume<std::int32_t> parts(ctx, image, labels);
  for (const auto how : {Interpolation::nearest, Interpolation::linear, Interpolation::cubic})
    EXPECT_EQ(map.resample(ctx, moving, how, -3).to_host(ctx),
              resample(ctx, moving, t, grid, how, -3).to_host(ctx));
  for (const auto how : {LabelInterpolation::nearest, LabelInterpolation::vote})
    EXPECT_EQ(map.resample_labels(ctx, parts, how, 9).to_host(ctx),
              resample_labels(ctx, parts, t, grid, how, 9).to_host(ctx));
  const Volume<float> other(ctx, plain_geometry({4, 4, 4}));
  EXPECT_THROW(map.resample(ctx, other), InvalidArgument);
  const Volume<float> elsewhere(ctx, plain_geometry(image.extent));
  EXPECT_THROW(map.resample(ctx, elsewhere), InvalidArgument);
}

TEST_P(Transforms, AVoteTakesTheLargestShare) {
  const Geometry g = plain_geometry({4, 4, 4});
  std::vector<std::int32_t> labels(64, 1);
  labels[g.extent.offset(1, 1, 1)] = 2;
  const Volume<std::int32_t> volume(ctx, g, labels);
  const auto label_at = [&](const Eigen::Vector3d& where, LabelInterpolation how) {
    Eigen::Affine3d shift = Eigen::Affine3d::Identity();
    shift.translation() = where;
    Geometry one = g;
    one.extent = {1, 1, 1};
    return resample_labels(ctx, volume, Transform(shift), one, how, 7).to_host(ctx)[0];
  };
  const LabelInterpolation vote = LabelInterpolation::vote, nearest = LabelInterpolation::nearest;
  EXPECT_EQ(label_at({1, 1, 1}, vote), 2);
  EXPECT_EQ(label_at({1.2, 1.2, 1.2}, vote), 2) << "0.8^3 is more than a half";
  EXPECT_EQ(label_at({1.3, 1.3, 1.3}, vote), 1) << "0.7^3 is less than a half";
  EXPECT_EQ(label_at({1.3, 1.3, 1.3}, nearest), 2);
  EXPECT_EQ(label_at({1.5, 1, 1}, vote), 1) << "a level vote goes to the smaller number";
  EXPECT_EQ(label_at({9, 1, 1}, vote), 7) << "outside";
}

TEST_P(Transforms, TheJacobianCountsTheAffineToo) {
  const Geometry g = plain_geometry({12, 12, 12});
  Eigen::Affine3d twice = Eigen::Affine3d::Identity();
  twice.linear() *= 2;
  Transform t(twice);
  t.then(DisplacementField(
      ctx, centred(plain_geometry({60, 60, 60})),
      field_planes({60, 60, 60}, [](int x, int, int) { return Eigen::Vector3d(0.25 * x, 0, 0); })));
  const std::vector<float> j = jacobian_determinant(ctx, t, g).to_host(ctx);
  const std::vector<float> log_j = log_jacobian(ctx, t, g).to_host(ctx);
  const std::size_t at = g.extent.offset(5, 5, 5);
  EXPECT_NEAR(j[at], 8 * 1.25, 1e-3);
  EXPECT_NEAR(log_j[at], std::log(10), 1e-4);
}

TEST_P(Transforms, SaysWhatItCannot) {
  const Geometry g = plain_geometry({4, 4, 4});
  DisplacementField zero(ctx, g);
  zero.fill_zero(ctx);
  Transform longer;
  for (std::size_t k = 0; k <= Transform::most_links; ++k) longer.then(zero.clone(ctx));
  EXPECT_THROW(compose(ctx, longer, g), InvalidArgument);
  Context other = ctx.rehearsal();
  Transform foreign;
  foreign.then(DisplacementField(other, g));
  EXPECT_THROW(compose(ctx, foreign, g), InvalidArgument);
  EXPECT_THROW(Transform().then(DisplacementField()), InvalidArgument);
}

TEST_P(Transforms, ResampleNothingOfAnUnusableGeometry) {
  const Geometry good = plain_geometry({4, 4, 4});
  Geometry bad = good;
  bad.spacing.y() = NAN;
  EXPECT_THROW(resample(ctx, Volume<float>(ctx, bad), Transform(), good, Interpolation::linear),
               InvalidArgument);
  EXPECT_THROW(resample(ctx, Volume<float>(ctx, good), Transform(), bad, Interpolation::linear),
               InvalidArgument);
  EXPECT_THROW(resample_labels(ctx, Volume<std::int32_t>(ctx, bad), Transform(), good,
                               LabelInterpolation::nearest, 0),
               InvalidArgument);
  EXPECT_THROW(SamplingMap(ctx, Transform(), good, bad), InvalidArgument);
  EXPECT_THROW(SamplingMap(ctx, Transform(), bad, good), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
