// The way back through chains of affines and fields, by points and as a transform, on every device.
#include <freeflow/transform/transform_operations.h>

#include <freeflow/transform/affine_split.h>

#include "support/tolerances.h"
#include "transform/chains.h"

namespace freeflow {
namespace transform_inverses_test {

using namespace test;

class TransformInverses : public ChainsOnDevice {};
FREEFLOW_ON_EVERY_DEVICE(TransformInverses);

TEST_P(TransformInverses, PointsComeBack) {
  const Geometry grid = centred(plain_geometry({24, 22, 20}, 1.6));
  const Transform t = chain();
  const std::vector<Eigen::Vector3d> points = points_of(grid);
  const MappedBack back = map_points_back(ctx, t, map_points(ctx, t, points));
  EXPECT_LT(back.largest_residual_mm, 1e-6);
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_LT((back.points[i] - points[i]).norm(), 1e-5);
  Eigen::Affine3d flat = Eigen::Affine3d::Identity();
  flat.linear().col(2).setZero();
  EXPECT_THROW(map_points_back(ctx, Transform(flat), points), InvalidArgument);
}

/// As between images of which one is stored mirrored, and about far turned axes.
TEST_P(TransformInverses, PointsComeBackThroughAMirrorAndAQuarterTurn) {
  const Geometry grid = centred(plain_geometry({24, 22, 20}, 1.6));
  const std::vector<Eigen::Vector3d> points = points_of(grid);
  const Eigen::Affine3d turn(
      Eigen::AngleAxisd(EIGEN_PI / 2, Eigen::Vector3d(1, 1, 0).normalized()));
  for (const Eigen::Affine3d& after : {turn, Eigen::Affine3d(Eigen::Scaling(-1.0, 1.0, 1.0)),
                                       turn * Eigen::Scaling(1.0, 1.0, -1.0)}) {
    Transform t(after);
    t.then(waves(grid, 0.8)).then(after);
    const std::vector<Eigen::Vector3d> mapped = map_points(ctx, t, points);
    const MappedBack back = map_points_back(ctx, t, mapped);
    EXPECT_EQ(back.unsolved_points, 0u) << back.largest_residual_mm;
    const std::vector<Eigen::Vector3d> inverted = map_points(ctx, invert(ctx, t).transform, mapped);
    double most = 0, sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      most = std::max(most, (back.points[i] - points[i]).norm());
      sum += (inverted[i] - points[i]).norm();
    }
    EXPECT_LT(most, 1e-4);
    EXPECT_LT(sum / double(points.size()), 0.2) << "mm, of points beyond the inverse's grid, too";
  }
}

/// As where a shift or a scale was composed into the field: points that it leads to lie beyond its
/// grid, where it displaces nothing.
TEST_P(TransformInverses, PointsComeBackFromBeyondTheGrid) {
  const Geometry grid = oblique_geometry({24, 22, 20}, {1.5, 1.2, 2});
  for (const double scale : {1.0, 1.3}) {
    const Transform t(
        DisplacementField(ctx, grid,
                          field_planes(grid.extent,
                                       [&](int x, int y, int z) -> Eigen::Vector3d {
                                         return (scale - 1) * Eigen::Vector3d(x, y, z) +
                                                Eigen::Vector3d(15, -4, 0) + wave(x, y, z, 0.5);
                                       })),
        Eigen::Affine3d::Identity());
    std::vector<Eigen::Vector3d> points = points_of(grid);
    points.push_back(grid.index_to_world() * Eigen::Vector3d(23.4, 21.4, -0.4));
    const MappedBack back = map_points_back(ctx, t, map_points(ctx, t, points));
    EXPECT_EQ(back.unsolved_points, 0u) << back.largest_residual_mm;
    for (std::size_t i = 0; i < points.size(); ++i)
      ASSERT_LT((back.points[i] - points[i]).norm(), 1e-3) << scale << ", point " << i;
    // So it is where another field follows that reaches all.
    DisplacementField still(ctx, centred(plain_geometry({100, 100, 100}, 4)));
    still.fill_zero(ctx);
    Transform longer = t;
    longer.then(std::move(still));
    const MappedBack through_both = map_points_back(ctx, longer, map_points(ctx, longer, points));
    for (std::size_t i = 0; i < points.size(); ++i)
      ASSERT_LT((through_both.points[i] - points[i]).norm(), 1e-3) << scale << ", point " << i;
    // What no point of the grid is taken to stays where it is.
    const std::vector<Eigen::Vector3d> far = {grid.index_to_world() * Eigen::Vector3d(-40, 5, 5)};
    EXPECT_EQ(map_points_back(ctx, t, far).points, far);
  }
}

TEST_P(TransformInverses, ARangeIsAsLargeAsItMustBe) {
  const Geometry grid = oblique_geometry({8, 7, 6}, {1.5, 1.2, 2});
  const std::size_t count = grid.extent.count();
  std::vector<float> planes(3 * count);
  const auto expect_range = [&](const Extent& extent, const Eigen::Vector3d& first) {
    const Geometry range = grid_of_range(grid, planes);
    EXPECT_EQ(range.extent, extent);
    EXPECT_LT((range.origin - grid.index_to_world() * first).norm(), 1e-12);
    EXPECT_EQ(range.direction, grid.direction);
  };
  for (int c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < count; ++i) planes[std::size_t(c) * count + i] = 0.5f;
  expect_range({8, 7, 6}, {0, 0, 0});  // a grid holds half a voxel beyond its outermost centres
  planes[grid.extent.offset(7, 3, 2)] = 2.6f;
  expect_range({8 + 3, 7, 6}, {0, 0, 0});
  planes[count + grid.extent.offset(2, 0, 3)] = -1.75f;
  expect_range({8 + 3, 7 + 2, 6}, {0, -2, 0});
  planes[2 * count + grid.extent.offset(5, 4, 5)] = 0.75f;
  expect_range({8 + 3, 7 + 2, 6 + 1}, {0, -2, 0});
  planes[2 * count + grid.extent.offset(1, 1, 1)] = -4.25f;
  planes[grid.extent.offset(1, 1, 1)] = -1.75f;
  planes[count + grid.extent.offset(1, 6, 1)] = 3.0f;
  expect_range({8 + 3 + 1, 7 + 2 + 3, 6 + 1 + 3}, {-1, -2, -3});
}

TEST_P(TransformInverses, OnItsRangesAChainMapsAsBefore) {
  const Transform t = chain(), ranging = on_ranges(ctx, t);
  const std::vector<Eigen::Vector3d> points = points_of(centred(plain_geometry({20, 18, 16}, 1.6)));
  const std::vector<Eigen::Vector3d> mapped = map_points(ctx, ranging, points),
                                     expected = map_points(ctx, t, points);
  for (std::size_t i = 0; i < points.size(); ++i) ASSERT_LT((mapped[i] - expected[i]).norm(), 1e-3);
}

TEST_P(TransformInverses, AnInverseOnTheRangeReachesWhereTheFieldLeads) {
  const Geometry grid = oblique_geometry({24, 22, 20}, {1.5, 1.2, 2});
  // The longer shift is an affine that the field holds, behind which little leaves the grid.
  for (const Eigen::Vector3d& shift :
       {Eigen::Vector3d(2.3, -1.6, 0.4), Eigen::Vector3d(9.3, -5.2, 0.4)}) {
    Transform t(affine(12, {2, -3, 1}));
    t.then(DisplacementField(ctx, grid, field_planes(grid.extent, [&](int x, int y, int z) {
                               return Eigen::Vector3d(shift + wave(x, y, z, 0.5));
                             })));
    const Transform ranging = on_ranges(ctx, t);
    const Extent n = ranging.links()[0].field->extent();
    const bool grown = shift.x() < 5;
    EXPECT_GE(n.x, grown ? 24 + 2 : 24);
    EXPECT_GE(n.y, grown ? 22 + 1 : 22);
    EXPECT_LE(n.count(), std::size_t(grown ? 30 * 27 * 22 : 26 * 24 * 22));
    const InverseTransform inverse = invert(ctx, ranging);
    std::vector<Eigen::Vector3d> points;
    for (const Eigen::Vector3d& p : points_of(grid)) points.push_back(t.first().inverse() * p);
    const std::vector<Eigen::Vector3d> back =
        map_points(ctx, inverse.transform, map_points(ctx, t, points));
    for (std::size_t i = 0; i < points.size(); ++i)
      ASSERT_LT((back[i] - points[i]).norm(), 0.05) << shift.x() << ", point " << i;
  }
  std::vector<float> far(3 * grid.extent.count());
  far[5] = 3e9F;
  EXPECT_THROW(grid_of_range(grid, far), InvalidArgument);
  // Nothing is copied where a field stays on its grid.
  Transform still;
  still.then(waves(grid, 0.2));
  EXPECT_EQ(on_ranges(ctx, still).links()[0].field, still.links()[0].field);
}

/// A ball whose shells turn against each other, by up to a turn: invertible everywhere, and
/// far from the affine start nearly everywhere.
TEST_P(TransformInverses, PointsComeBackThroughASwirl) {
  const Geometry grid = centred(plain_geometry({40, 40, 40}));
  const Eigen::Affine3d world = grid.index_to_world();
  const Transform swirl(
      DisplacementField(
          ctx, grid,
          field_planes(grid.extent,
                       [&](int x, int y, int z) -> Eigen::Vector3d {
                         const Eigen::Vector3d p = world * Eigen::Vector3d(x, y, z);
                         const double angle = 6 * std::exp(-p.squaredNorm() / 100);
                         return Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()) * p - p;
                       })),
      Eigen::Affine3d::Identity());
  std::vector<Eigen::Vector3d> points;
  for (const Eigen::Vector3d& p : points_of(grid)) points.push_back(0.7 * p);
  const MappedBack back = map_points_back(ctx, swirl, points);
  EXPECT_EQ(back.unsolved_points, 0u) << back.largest_residual_mm << " mm";
  const std::vector<Eigen::Vector3d> again = map_points(ctx, swirl, back.points);
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_LT((again[i] - points[i]).norm(), MappedBack::solved_mm);
}

TEST_P(TransformInverses, TheInverseOfAChainUndoesIt) {
  const Geometry grid = centred(plain_geometry({16, 16, 16}, 1.6));
  const Transform t = chain();
  const InverseTransform back = invert(ctx, t);
  EXPECT_LT(back.mean_residual_voxels, inverse_mean_voxels);
  const std::vector<Eigen::Vector3d> points = points_of(grid);
  const std::vector<Eigen::Vector3d> there_and_back =
      map_points(ctx, back.transform, map_points(ctx, t, points));
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += (there_and_back[i] - points[i]).norm();
  EXPECT_LT(sum / double(points.size()), 0.1);
}

/// As FNIRT's fields between images that are stored along other axes, and as a rigid start that was
/// composed with a deformation: the field of a whole transform, turned by anything and mirrored.
TEST_P(TransformInverses, AFieldThatHoldsAnAffineComesBack) {
  const Geometry grid = centred(oblique_geometry({26, 24, 22}, {1.5, 1.6, 1.7}));
  const auto about_centre = [&](const Eigen::Affine3d& linear) {
    return Eigen::Translation3d(grid.center()) * linear * Eigen::Translation3d(-grid.center());
  };
  const Eigen::Vector3d axis = Eigen::Vector3d(1, 0.3, 0.2).normalized();
  // Up to the border, beyond which the way back may begin.
  std::vector<Eigen::Vector3d> points;
  for (const double x : {0.0, 0.4, 7.3, 19.0, 24.9, 25.0})
    for (const double y : {0.0, 0.3, 11.6, 22.8, 23.0})
      for (const double z : {0.0, 0.2, 9.5, 20.6, 21.0})
        points.push_back(grid.index_to_world() * Eigen::Vector3d(x, y, z));
  for (const double degrees : {45.0, 90.0, 180.0})
    for (const double scale : {1.0, -1.0, 0.3}) {
      const Eigen::Affine3d after =
          about_centre(Eigen::AngleAxisd(degrees * EIGEN_PI / 180, axis) *
                       Eigen::Affine3d(Eigen::Scaling(scale, std::abs(scale), std::abs(scale))));
      Transform parts;
      parts.then(waves(grid, 1.2)).then(after);
      Transform whole;
      whole.then(compose(ctx, parts, grid));
      const std::vector<Eigen::Vector3d> mapped = map_points(ctx, whole, points);
      const MappedBack back = map_points_back(ctx, whole, mapped);
      EXPECT_EQ(back.unsolved_points, 0u) << degrees << " degrees, scaled by " << scale;
      const InverseTransform inverse = invert(ctx, on_ranges(ctx, whole));
      EXPECT_LT(inverse.mean_residual_voxels, inverse_mean_voxels);
      const std::vector<Eigen::Vector3d> inverted = map_points(ctx, inverse.transform, mapped);
      double sum = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        ASSERT_LT((back.points[i] - points[i]).norm(), 1e-4) << degrees << " degrees, " << scale;
        sum += (inverted[i] - points[i]).norm();
      }
      EXPECT_LT(sum / double(points.size()), 0.1) << degrees << " degrees, scaled by " << scale;
    }
}

TEST_P(TransformInverses, AFieldAndTheAffineItHoldsAreWhatItWas) {
  const Geometry grid = centred(oblique_geometry({20, 1, 22}, {1.5, 1.6, 1.7}));
  const Eigen::Affine3d turn = affine(70, {4, -3, 2});
  Transform parts;
  parts.then(waves(grid, 0.8)).then(turn);
  Transform whole(affine(5, {1, 1, 1}));
  whole.then(compose(ctx, parts, grid)).then(affine(-8, {0, 1, 2}));
  const Transform apart = split_affines(ctx, whole);
  ASSERT_EQ(apart.links().size(), 1u);
  double most = 0;
  for (const float v : apart.links()[0].field->to_host(ctx))
    most = std::max<double>(most, std::abs(v));
  EXPECT_LT(most, 3) << "voxels: the deformation alone";
  std::vector<Eigen::Vector3d> points;
  const Eigen::Affine3d onto = whole.first().inverse() * grid.index_to_world();
  for (const double x : {0.0, 3.7, 19.0})
    for (const double z : {0.2, 11.5}) points.push_back(onto * Eigen::Vector3d(x, 0, z));
  const std::vector<Eigen::Vector3d> expected = map_points(ctx, whole, points),
                                     mapped = map_points(ctx, apart, points);
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_LT((mapped[i] - expected[i]).norm(), 1e-4) << i;
  Transform deformation;
  deformation.then(waves(grid, 0.8));
  EXPECT_EQ(split_affines(ctx, deformation).links()[0].field, deformation.links()[0].field)
      << "a field that holds none is left as it is";
  const std::vector<float> onto_a_plane =
      field_planes(grid.extent, [](int x, int, int) { return Eigen::Vector3d(-double(x), 0, 0); });
  EXPECT_FALSE(split_affine(grid, onto_a_plane).has_value()) << "which has no inverse";
  const std::vector<float> planes = whole.links()[0].field->to_host(ctx);
  EXPECT_EQ(split_affine(grid, planes, 1)->planes, split_affine(grid, planes, 3)->planes);
}

TEST_P(TransformInverses, TheResidualOfAnInverseIsThatOfItsWorstField) {
  const DisplacementField rough = waves(centred(plain_geometry({24, 22, 20})), 3),
                          smooth = waves(centred(plain_geometry({24, 22, 20})), 0.3);
  const Inverse of_rough = invert(ctx, rough), of_smooth = invert(ctx, smooth);
  ASSERT_LT(of_smooth.residual.max_voxels, of_rough.residual.max_voxels);
  for (const bool rough_first : {true, false}) {
    Transform t;
    t.then((rough_first ? rough : smooth).clone(ctx))
        .then((rough_first ? smooth : rough).clone(ctx));
    const InverseTransform back = invert(ctx, t);
    EXPECT_EQ(back.mean_residual_voxels, of_rough.residual.mean_voxels);
    EXPECT_EQ(back.largest_residual_voxels, of_rough.residual.max_voxels);
  }
}

}  // namespace transform_inverses_test
}  // namespace freeflow
