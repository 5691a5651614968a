// What a linear registration knows of its images before it searches, and how candidates are scored,
// on every device.
#include <freeflow/registration/linear/linear_levels.h>

#include <cmath>
#include <functional>

#include <freeflow/registration/linear/candidate_search.h>
#include <freeflow/registration/linear/linear_cost.h>
#include <freeflow/registration/linear/small_part.h>
#include <freeflow/registration/linear/stripped.h>
#include <freeflow/similarity/similarity_choice.h>

#include "support/devices.h"
#include "support/warped_phantom.h"

namespace freeflow {
namespace linear_levels_test {

using namespace test;

class LinearLevelsOf : public OnDevice {
 protected:
  /// value(distance from the middle in mm) on a grid about the world's origin.
  Volume<float> ball(const Geometry& g, const std::function<double(double)>& value) {
    return sample_world(ctx, g, [&](const Eigen::Vector3d& p) { return value(p.norm()); });
  }
  static Geometry grid(const Extent& extent, const Eigen::Vector3d& spacing = {1, 1, 1}) {
    Geometry g = plain_geometry(extent);
    g.spacing = spacing;
    return centred(g);
  }
};
FREEFLOW_ON_EVERY_DEVICE(LinearLevelsOf);

TEST_P(LinearLevelsOf, AnObjectIsABallOfItsSecondMoment) {
  const Geometry g = grid({40, 30, 24}, {1, 1.4, 1.75});
  const Eigen::Vector3d away(3, -2, 1.5);
  std::vector<float> voxels = sample_world(ctx, g, [&](const Eigen::Vector3d& p) {
                                return (p - away).norm() < 12 ? 3.0 : 1.0;
                              }).to_host(ctx);
  const ContentExtent whole = content_extent(ctx, Volume<float>(ctx, g, voxels), "the image");
  EXPECT_LT((whole.center - away).norm(), 0.1);
  EXPECT_NEAR(whole.radius_mm, 12, 0.2);
  EXPECT_NEAR(whole.volume_mm3, 40 * 42 * 42, 1e-9);
  voxels.back() = 1e7f;  // one of which would outweigh all else
  for (std::size_t i = 0; i < 40 * 30; ++i) voxels[i] = NAN;  // a slice
  const ContentExtent masked = content_extent(ctx, Volume<float>(ctx, g, voxels), "the image");
  EXPECT_LT((masked.center - whole.center).norm(), 0.1);
  EXPECT_NEAR(masked.radius_mm, 12, 0.3);
  EXPECT_NEAR(masked.volume_mm3, 40 * 42 * (42 - 1.75), 1e-6);
}

TEST_P(LinearLevelsOf, WithoutContrastTheObjectIsHalfAsWideAsTheGrid) {
  const Geometry g = oblique_geometry({16, 16, 16}, {2, 2, 2});
  const ContentExtent of_constant = content_extent(
      ctx, Volume<float>(ctx, g, std::vector<float>(g.extent.count(), 7)), "the image");
  EXPECT_LT((of_constant.center - g.center()).norm(), 1e-9);
  EXPECT_NEAR(of_constant.radius_mm, 8, 1e-9);
}

TEST_P(LinearLevelsOf, LevelsAreThoseOfTheObjectsSize) {
  const auto object = [&](const Geometry& g, double radius) {
    return PreparedImage(ball(g, [=](double r) { return r < radius ? 2 + 0.01 * r : 0; }));
  };
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  PreparedImage head = object(grid({48, 48, 48}, {4, 4, 4}), 80);
  const LinearLevels of_head(ctx, head, head, 4, identity);
  EXPECT_EQ(of_head.unit_mm(), 1);
  ASSERT_EQ(of_head.count(), 2) << "voxels of 4 mm do for the levels of 4, 2 and 1";
  EXPECT_EQ(of_head.spacing_mm(0), 8);
  EXPECT_EQ(of_head.spacing_mm(1), 4);
  PreparedImage small = object(grid({48, 48, 48}), 20);
  const LinearLevels of_small(ctx, small, small, 4, identity);
  EXPECT_EQ(of_small.unit_mm(), 0.25);
  EXPECT_EQ(of_small.spacing_mm(of_small.count() - 1), 1);
  EXPECT_EQ(of_small.spacing_mm(0), 2);
}

/// As of a header in centimetres, which the start makes up for.
TEST_P(LinearLevelsOf, AStartThatScalesSaysHowCoarseTheMovingLevelsAre) {
  const auto object = [&](double by) {
    Geometry g = grid({48, 48, 48});
    g.spacing *= by;
    g.origin *= by;
    return PreparedImage(ball(g, [=](double r) { return r < 20 * by ? 2 + 0.01 * r / by : 0; }));
  };
  PreparedImage fixed = object(1), moving = object(10);
  const LinearLevels levels(ctx, fixed, moving, 4, Eigen::Affine3d(Eigen::Scaling(10.0)));
  ASSERT_GT(levels.count(), 1);
  for (int l = 0; l < levels.count(); ++l)
    EXPECT_EQ(levels[l].moving.extent(), levels[l].fixed.extent()) << l;
}

TEST_P(LinearLevelsOf, ASmallPartIsOneOfSmallRadiusOrThinWhereTheImagesShowAsMuch) {
  const Geometry g = grid({48, 48, 48});
  const auto object = [&](double radius) {
    return ball(g, [=](double r) { return r < radius ? 3 - r / radius : 0; });
  };
  const auto shell = [&](double from, double to) {
    return ball(g, [=](double r) { return r >= from && r < to ? 1 : 0; });
  };
  const Volume<float> whole = object(18);
  const auto small = [&](const Volume<float>& mask, const Volume<float>& other) {
    PreparedImage masked(whole.lend(), mask.lend()), unmasked(other.lend());
    const bool of_fixed = mask_leaves_small_part(ctx, masked, unmasked);
    EXPECT_EQ(mask_leaves_small_part(ctx, unmasked, masked), of_fixed);
    EXPECT_FALSE(mask_leaves_small_part(ctx, masked, masked)) << "of two masks";
    EXPECT_FALSE(mask_leaves_small_part(ctx, unmasked, unmasked));
    return of_fixed;
  };
  EXPECT_TRUE(small(shell(0, 12), whole)) << "brightest in the middle: 0.55 of the radius";
  EXPECT_FALSE(small(shell(0, 17), whole));
  EXPECT_TRUE(small(shell(17, 18), whole)) << "a cortex";
  EXPECT_FALSE(small(shell(14, 18), whole));
  EXPECT_TRUE(small(shell(0, 12), object(9)));
  EXPECT_FALSE(small(shell(0, 12), object(6))) << "of which the other shows a third";
  std::vector<Volume<float>> channels;
  channels.push_back(whole.clone(ctx));
  channels.push_back(object(9));
  PreparedImage two(std::move(channels), shell(0, 12));
  PreparedImage bare = without_mask(ctx, two);
  EXPECT_EQ(bare.channels(), 2u);
  EXPECT_FALSE(bare.has_mask());
}

TEST_P(LinearLevelsOf, ATransformThatRunsAwayFromTheImagesHasNoCost) {
  const Volume<float> fixed = ball(grid({12, 12, 12}), [](double r) { return r; }),
                      moving = ball(grid({40, 40, 40}, {4, 4, 4}), [](double r) { return r; });
  SimilarityChoice choice;
  choice.kind = SimilarityKind::ssd;
  const auto measure = make_similarity(choice);
  measure->read_ranges(ctx, fixed, moving);
  measure->prepare(
      ctx,
      {fixed, moving, index_map(fixed.geometry(), Eigen::Affine3d::Identity(), moving.geometry())});
  LinearCost cost(ctx, *measure, fixed, moving);
  const OverlapGuard guard(ctx, fixed, moving);
  for (const double of_initial : {1.0, 2.0}) {
    const Eigen::Affine3d initial(Eigen::Scaling(of_initial));
    const LinearParameters parameters(LinearModel::similarity, {0, 0, 0}, 25, initial);
    const SmoothCost smooth = cost.of(parameters, guard, 0.6, initial);
    const auto has_cost = [&](double scale, double shift) {
      Eigen::VectorXd p = parameters.start();
      p[6] = 25 * std::log(scale * of_initial);
      p[3] = shift;
      return std::isfinite(smooth(p, nullptr));
    };
    for (const double scale : {2.9, 1 / 2.9}) EXPECT_TRUE(has_cost(scale, 0)) << scale;
    for (const double scale : {3.1, 1 / 3.1}) EXPECT_FALSE(has_cost(scale, 0)) << scale;
    EXPECT_TRUE(has_cost(1, 76)) << "most of the fixed voxels fall on the moving image";
    EXPECT_FALSE(has_cost(1, 81)) << "most do not";
  }
}

class CandidatesOf : public OnDevice {
 protected:
  Geometry grid = centred(plain_geometry({32, 30, 28}, 1.5));
  Volume<float> image(double shift) {
    return sample_world(ctx, grid, [&](const Eigen::Vector3d& p) {
      return head(p + Eigen::Vector3d(shift, 0, 0), 18);
    });
  }
};
FREEFLOW_ON_EVERY_DEVICE(CandidatesOf);

TEST_P(CandidatesOf, AreScoredByTheInformationOrByWhatOfItIsShared) {
  const Volume<float> fixed = image(0), moving = image(2);
  const ImagePair pair{fixed, moving, index_map(grid, Eigen::Affine3d::Identity(), grid)};
  const LinearLevel one{fixed, moving, {}, {}, {pair}}, two{fixed, moving, {}, {}, {pair, pair}};
  const std::vector<double> alone{1}, both{0.25, 0.75};
  const ContentExtent content{Eigen::Vector3d::Zero(), 18};
  LevelRecord record;
  CandidateSearch search(ctx, one, alone, content, record),
      of_both(ctx, two, both, content, record);
  const auto scored = [&](CandidateSearch& by, CandidateRank rank) {
    std::vector<LinearCandidate> candidates;
    for (const double x : {-2.0, 14.0, 24.0})
      candidates.push_back({Eigen::Affine3d(Eigen::Translation3d(x, 0, 0))});
    EXPECT_EQ(by.score(candidates, CandidateSampling::linear, 0, rank), candidates[0].overlap);
    return candidates;
  };
  const std::vector<LinearCandidate> by_information = scored(search, CandidateRank::information),
                                     by_share = scored(search, CandidateRank::shared),
                                     of_two = scored(of_both, CandidateRank::information);
  EXPECT_LT(by_information[0].cost, by_information[1].cost) << "the right one";
  EXPECT_NEAR(by_information[2].overlap, 0.5, 0.05);
  EXPECT_EQ(record.evaluations, 9);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(by_share[i].cost, by_information[i].cost * by_information[i].overlap, 1e-12);
    EXPECT_NEAR(of_two[i].cost, by_information[i].cost, 1e-12) << "two of the same";
  }
}

TEST_P(CandidatesOf, NeighboursLieBothWaysAboutTheObjectsCentre) {
  const Volume<float> fixed = image(0);
  const LinearLevel level{
      fixed, fixed, {}, {}, {{fixed, fixed, index_map(grid, Eigen::Affine3d::Identity(), grid)}}};
  const std::vector<double> alone{1};
  const ContentExtent content{Eigen::Vector3d(3, -4, 5), 18};
  LevelRecord record;
  const CandidateSearch search(ctx, level, alone, content, record);
  const LinearCandidate start{Eigen::Affine3d(Eigen::Translation3d(7, 0, 1))};
  const auto linear_parts = [&](const PatternStep& step) {
    std::vector<double> determinants;
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    for (const LinearCandidate& c : search.neighbours(start, step)) {
      determinants.push_back(std::cbrt(c.world.linear().determinant()));
      const Eigen::Vector3d moved = c.world * content.center - start.world * content.center;
      EXPECT_NEAR(moved.norm(), step.mm, 1e-9) << "turned and scaled about the centre";
      sum += moved;
    }
    EXPECT_LT(sum.norm(), 1e-9);
    std::ranges::sort(determinants);
    return determinants;
  };
  EXPECT_EQ(linear_parts({2, 0, 0}).size(), 6u);
  EXPECT_EQ(linear_parts({0, 9, 0}).size(), 6u);
  const std::vector<double> scales = linear_parts({0, 0, 0.25});
  ASSERT_EQ(scales.size(), 2u);
  EXPECT_NEAR(scales[0], 1 / 1.25, 1e-12);
  EXPECT_NEAR(scales[1], 1.25, 1e-12);
}

TEST(Candidates, OfNoCostComeLast) {
  const auto at = [](double x, double cost) {
    return LinearCandidate{Eigen::Affine3d(Eigen::Translation3d(x, 0, 0)), cost};
  };
  const std::vector<LinearCandidate> kept =
      distinct({at(0, NAN), at(50, -0.1), at(100, -INFINITY), at(150, -0.3), at(151, -0.2)},
               Eigen::Vector3d::Zero(), 10, 5, 9);
  std::vector<double> where;
  where.reserve(kept.size());
  for (const LinearCandidate& c : kept) where.push_back(c.world.translation().x());
  EXPECT_EQ(where, (std::vector<double>{150, 50, 0, 100}));
}

TEST(CornerValue, IsOneThatAllHaveThatHaveAny) {
  const Geometry g = plain_geometry({3, 2, 2});
  std::vector<float> voxels(g.extent.count(), 5);
  const ImageOnHost image{g, voxels};
  voxels[1] = 3;  // between two corners
  EXPECT_EQ(corner_value(image), 5);
  voxels[0] = 0;
  EXPECT_EQ(corner_value(image), std::nullopt);
  EXPECT_EQ(corner_value(image, 0), 5);
  EXPECT_EQ(corner_value(image, 5), 0);
  voxels[0] = NAN;
  EXPECT_EQ(corner_value(image), 5);
}

}  // namespace linear_levels_test
}  // namespace freeflow
