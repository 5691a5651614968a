// Weighted sums of measures: cost and force are the sums, with the linear map that moves.
#include <freeflow/similarity/measure_sum.h>

#include <gtest/gtest.h>

#include <freeflow/similarity/similarity_choice.h>

#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

struct Evaluation {
  double cost;
  std::vector<float> force;
};

Evaluation evaluate(Context& ctx, SimilarityMeasure& measure, const ImagePair& images,
                    const DisplacementField& u) {
  measure.read_ranges(ctx, images.fixed, images.moving);
  measure.prepare(ctx, images);
  DisplacementField force(ctx, images.fixed.geometry());
  Buffer<double> cost(ctx, 1);
  measure.evaluate(ctx, u.view(), force.view(), cost.data());
  return {cost.to_host(ctx)[0], force.to_host(ctx)};
}

class MeasureSums : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(MeasureSums);

TEST_P(MeasureSums, CostAndForceAreTheWeightedSums) {
  const Geometry g = plain_geometry({24, 20, 18});
  const auto image = [&](double shift) {
    return Volume<float>(ctx, g, voxelwise(g.extent, [&](int x, int y, int z) {
                           return head(Eigen::Vector3d(x + shift, y, z) - g.center(), 8);
                         }));
  };
  const Volume<float> f = image(0), m = image(1.3);
  const ImagePair images{f, m, index_map(g, Eigen::Affine3d::Identity(), g)};
  const DisplacementField u(ctx, g, random_values(3 * g.extent.count(), 3, -0.5, 0.5));
  SimilarityChoice sum;
  sum.sum = {{SimilarityKind::lncc, 2}, {SimilarityKind::nmi, 0.25}, {SimilarityKind::mind, 1}};
  const auto of_sum = evaluate(ctx, *make_similarity(sum), images, u);
  double cost = 0;
  std::vector<double> force(3 * g.extent.count());
  for (const SimilarityTerm& t : sum.sum) {
    SimilarityChoice one;
    one.kind = t.kind;
    const auto e = evaluate(ctx, *make_similarity(one), images, u);
    cost += t.weight * e.cost;
    for (std::size_t i = 0; i < force.size(); ++i) force[i] += t.weight * double(e.force[i]);
  }
  EXPECT_NEAR(of_sum.cost, cost, 1e-12 * std::abs(cost));
  double largest = 0;
  for (const double v : force) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < force.size(); ++i)
    ASSERT_NEAR(of_sum.force[i], force[i], 1e-6 * largest);
}

TEST_P(MeasureSums, OneTermHasItsWeight) {
  const Geometry g = plain_geometry({16, 14, 12});
  const Volume<float> f(ctx, g, random_values(g.extent.count(), 1, 0, 1)),
      m(ctx, g, random_values(g.extent.count(), 2, 0, 1));
  const ImagePair images{f, m, index_map(g, Eigen::Affine3d::Identity(), g)};
  const DisplacementField u(ctx, g, random_values(3 * g.extent.count(), 3, -0.5, 0.5));
  std::vector<MeasureSum::Term> terms;
  terms.push_back({make_similarity({SimilarityKind::lncc, 32}), 0.25});
  MeasureSum sum(std::move(terms));
  const auto of_sum = evaluate(ctx, sum, images, u);
  const auto alone = evaluate(ctx, *make_similarity({SimilarityKind::lncc, 32}), images, u);
  EXPECT_EQ(of_sum.cost, 0.25 * alone.cost);
  for (std::size_t i = 0; i < alone.force.size(); ++i)
    ASSERT_EQ(of_sum.force[i], 0.25f * alone.force[i]) << i;
}

TEST(SimilarityWords, AreMeasuresOrSums) {
  using Terms = std::vector<SimilarityTerm>;
  EXPECT_EQ(parse_similarity_sum("lncc"), (Terms{{SimilarityKind::lncc, 1}}));
  EXPECT_EQ(parse_similarity_sum("lncc+0.3nmi"),
            (Terms{{SimilarityKind::lncc, 1}, {SimilarityKind::nmi, 0.3}}));
  EXPECT_EQ(parse_similarity_sum("2*mind+cr"),
            (Terms{{SimilarityKind::mind, 2}, {SimilarityKind::cr, 1}}));
  for (const char* wrong :
       {"", "+", "lncc+", "0nmi", "-1nmi", "infnmi", "nannmi", "ncc", "lncc nmi"})
    EXPECT_FALSE(parse_similarity_sum(wrong).has_value()) << wrong;
  EXPECT_EQ(SimilarityChoice{SimilarityKind::automatic}.terms(),
            *parse_similarity_sum("lncc+0.3nmi"));
  SimilarityChoice twice;
  twice.sum = *parse_similarity_sum("2auto+ssd");
  EXPECT_EQ(twice.terms(), *parse_similarity_sum("2lncc+0.6nmi+ssd"));
  EXPECT_EQ(twice.terms(false), *parse_similarity_sum("2lncc+0.6nmi+8mind+ssd"));
}

TEST(SimilarityWords, ALinearStageLooksAtTheWhole) {
  SimilarityChoice c;
  for (const char* local : {"auto", "lncc", "mind", "ssd+lncc"}) {
    c.sum = *parse_similarity_sum(local);
    EXPECT_TRUE(linear_choice(c).is(SimilarityKind::nmi)) << local;
  }
  c.sum = *parse_similarity_sum("cr+ssd");
  EXPECT_EQ(linear_choice(c).terms(), c.terms());
}

TEST(MeasureSum, RefusesWhatCannotBeSummed) {
  EXPECT_THROW(MeasureSum({}), InvalidArgument);
  std::vector<MeasureSum::Term> none(1);
  EXPECT_THROW(MeasureSum(std::move(none)), InvalidArgument);
  for (const double weight : {0.0, -1.0, double(NAN), double(INFINITY)}) {
    std::vector<MeasureSum::Term> terms;
    terms.push_back({make_similarity({}), weight});
    EXPECT_THROW(MeasureSum(std::move(terms)), InvalidArgument) << weight;
  }
}

TEST(MeasureRange, IsWhatImagesCostThatHaveNothingInCommon) {
  Context cpu;
  const Geometry g = plain_geometry({40, 36, 32});
  const auto image = [&](unsigned seed) {  // noise, correlated over a few voxels
    const std::vector<float> noise = random_values(g.extent.count(), seed, 0, 1);
    const auto at = [&](int x, int y, int z) {
      return noise[g.extent.offset(x % g.extent.x, y % g.extent.y, z % g.extent.z)];
    };
    return Volume<float>(cpu, g, voxelwise(g.extent, [&](int x, int y, int z) {
                           double sum = 0;
                           for (int i = 0; i < 64; ++i)
                             sum += at(x + i % 4, y + i / 4 % 4, z + i / 16);
                           return sum;
                         }));
  };
  const Volume<float> one = image(1), other = image(2);
  const DisplacementField none(cpu, g, std::vector<float>(3 * g.extent.count()));
  const PointMap same = index_map(g, Eigen::Affine3d::Identity(), g);
  for (const char* name : {"nmi", "mi", "cr", "ssd", "lncc", "mind", "lncc+0.3nmi+4mind"}) {
    SimilarityChoice choice;
    choice.sum = *parse_similarity_sum(name);
    const auto measure = make_similarity(choice);
    const double matching = evaluate(cpu, *measure, {one, one, same}, none).cost,
                 foreign = evaluate(cpu, *measure, {one, other, same}, none).cost;
    EXPECT_GT((foreign - matching) / measure->range(), 0.5) << name;
    EXPECT_LT((foreign - matching) / measure->range(), 2) << name;
  }
}

TEST(AutomaticMeasure, LooksAtSelfSimilarityWhereVoxelsAreLarge) {
  SimilarityChoice choice;
  choice.kind = SimilarityKind::automatic;
  const std::vector<SimilarityTerm> fine = {{SimilarityKind::lncc, 1}, {SimilarityKind::nmi, 0.3}};
  std::vector<SimilarityTerm> coarse = fine;
  coarse.push_back({SimilarityKind::mind, 4});
  EXPECT_EQ(choice.of_level(0).terms(), fine);
  EXPECT_EQ(choice.of_level(1).terms(), coarse);
  EXPECT_EQ(choice.of_level(3).terms(), coarse);
  choice.kind = SimilarityKind::nmi;
  EXPECT_EQ(choice.of_level(2).terms(), choice.terms());
}

}  // namespace
}  // namespace freeflow
