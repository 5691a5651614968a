// The measure of several channels: cost and force are the weighted sums over channels, each with
// its own images and ranges; one channel is the measure itself.
#include <freeflow/similarity/channel_measure.h>

#include <gtest/gtest.h>

#include <freeflow/similarity/ssd.h>

#include "pair_scene.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

SimilarityChoice choice_of(const std::string& words, std::vector<double> weights = {}) {
  SimilarityChoice c;
  c.sum = *parse_similarity_sum(words);
  if (c.sum.size() == 1) {
    c.kind = c.sum[0].kind;
    c.sum.clear();
  }
  c.channel_weights = std::move(weights);
  return c;
}

/// Two scenes on the same grids; the second has other structures and intensities. What lies near
/// the fixed image's border does not count, so that the overlap stays.
struct TwoChannels {
  PairScene first, second{{21, 19, 11}, {25, 18, 14}, 1.4, 300, 70};

  explicit TwoChannels(Context& ctx) {
    const Extent n = first.fixed.extent;
    for (PairScene* s : {&first, &second})
      s->f = voxelwise(n, [&](int x, int y, int z) {
        const bool inside = x > 2 && y > 2 && z > 2 && x < n.x - 3 && y < n.y - 3 && z < n.z - 3;
        return inside ? s->f[n.offset(x, y, z)] : NAN;
      });
    f0 = Volume<float>(ctx, first.fixed, first.f);
    m0 = Volume<float>(ctx, first.moving, first.m);
    f1 = Volume<float>(ctx, second.fixed, second.f);
    m1 = Volume<float>(ctx, second.moving, second.m);
  }

  std::vector<ImagePair> pairs() const { return {{f0, m0, first.map}, {f1, m1, second.map}}; }

  Volume<float> f0, m0, f1, m1;
};

/// All channels at a displacement.
Evaluated evaluate(Context& ctx, const SimilarityChoice& choice,
                   const std::vector<ImagePair>& channels, const std::vector<float>& planes) {
  ChannelMeasure of_channels(choice, channels.size());
  for (std::size_t c = 0; c < channels.size(); ++c)
    of_channels.set_ranges(c, robust_range(ctx, channels[c].fixed, "the fixed image"),
                           robust_range(ctx, channels[c].moving, "the moving image"));
  of_channels.prepare(ctx, channels);
  const Geometry& grid = channels[0].fixed.geometry();
  const DisplacementField u(ctx, grid, planes);
  DisplacementField force(ctx, grid);
  Buffer<double> cost(ctx, 1);
  const ContextStatistics before = ctx.statistics();
  of_channels.measure().evaluate(ctx, u.view(), force.view(), cost.data());
  EXPECT_EQ(ctx.statistics().allocations, before.allocations);
  EXPECT_EQ(ctx.statistics().synchronizations, before.synchronizations);
  return {cost.to_host(ctx)[0], force.to_host(ctx)};
}

double largest(const std::vector<float>& v) {
  double most = 0;
  for (const float x : v) most = std::max(most, double(std::abs(x)));
  return most;
}

const char* const every_choice[] = {"nmi", "mi", "cr", "ssd", "lncc", "mind", "auto", "ssd+2mind"};

class Channels : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Channels);

TEST_P(Channels, OneIsTheMeasureItself) {
  const TwoChannels s(ctx);
  for (const char* words : every_choice) {
    const SimilarityChoice choice = choice_of(words, {0.25});
    const Evaluated plain = test::evaluate(ctx, *make_similarity(choice), s.first),
                    one = evaluate(ctx, choice, {s.pairs()[0]}, s.first.planes);
    EXPECT_EQ(plain.cost, one.cost) << words;
    EXPECT_EQ(plain.force, one.force) << words;
  }
}

TEST_P(Channels, CostAndForceAreTheWeightedSums) {
  const TwoChannels s(ctx);
  for (const char* words : every_choice) {
    const Evaluated first = evaluate(ctx, choice_of(words), {s.pairs()[0]}, s.first.planes),
                    second = evaluate(ctx, choice_of(words), {s.pairs()[1]}, s.first.planes),
                    both = evaluate(ctx, choice_of(words, {3, 1}), s.pairs(), s.first.planes);
    EXPECT_NEAR(both.cost, 0.75 * first.cost + 0.25 * second.cost, 1e-12 * std::abs(both.cost));
    const double scale = largest(both.force);
    for (std::size_t i = 0; i < both.force.size(); ++i)
      ASSERT_NEAR(both.force[i], 0.75 * double(first.force[i]) + 0.25 * double(second.force[i]),
                  1e-6 * scale)
          << words;
  }
}

TEST_P(Channels, TheForceIsTheDifferenceOfTheCost) {
  const TwoChannels s(ctx);
  const std::vector<float>& u = s.first.planes;
  // A smooth direction, so that the kinks of trilinear interpolation average out.
  const std::vector<float> direction =
      field_planes(s.first.fixed.extent, [](int x, int y, int z) { return wave(z, x + 3, y, 1); });
  for (const char* words : every_choice) {
    const SimilarityChoice choice = choice_of(words, {1, 2});
    const double h = 0.01;
    std::vector<float> ahead = u, behind = u;
    double slope = 0;
    const Evaluated here = evaluate(ctx, choice, s.pairs(), u);
    for (std::size_t i = 0; i < u.size(); ++i) {
      ahead[i] += float(h) * direction[i];
      behind[i] -= float(h) * direction[i];
      slope -= double(here.force[i]) * direction[i];
    }
    const double difference = (evaluate(ctx, choice, s.pairs(), ahead).cost -
                               evaluate(ctx, choice, s.pairs(), behind).cost) /
                              (2 * h);
    EXPECT_NEAR(slope, difference, 0.03 * std::abs(difference)) << words;
  }
}

TEST_P(Channels, TwoOfTheSameAreOne) {
  const TwoChannels s(ctx);
  for (const char* words : every_choice) {
    const Evaluated one = evaluate(ctx, choice_of(words), {s.pairs()[0]}, s.first.planes),
                    twice = evaluate(ctx, choice_of(words), {s.pairs()[0], s.pairs()[0]},
                                     s.first.planes);
    EXPECT_NEAR(one.cost, twice.cost, 1e-12 * std::abs(one.cost)) << words;
    for (std::size_t i = 0; i < one.force.size(); ++i)
      ASSERT_NEAR(one.force[i], twice.force[i], 1e-6 * largest(one.force)) << words;
  }
}

TEST_P(Channels, GiveTheSameBitsAsTheCpuForAnyThreads) {
  const TwoChannels here(ctx), there(cpu);
  Context three({}, 3);
  const TwoChannels threaded(three);
  for (const char* words : every_choice) {
    const SimilarityChoice choice = choice_of(words, {1, 0.3});
    const Evaluated expected = evaluate(cpu, choice, there.pairs(), there.first.planes),
                    found = evaluate(ctx, choice, here.pairs(), here.first.planes),
                    other = evaluate(three, choice, threaded.pairs(), threaded.first.planes);
    EXPECT_EQ(expected.cost, found.cost) << words;
    EXPECT_EQ(expected.force, found.force) << words;
    EXPECT_EQ(expected.force, other.force) << words;
  }
}

TEST_P(Channels, AMeasureOfTheCallersIsMadeForEach) {
  const TwoChannels s(ctx);
  SimilarityChoice own = choice_of("lncc");
  int made = 0;
  own.factory = [&made] {
    ++made;
    return std::make_unique<Ssd>();
  };
  const Evaluated expected = evaluate(ctx, choice_of("ssd"), s.pairs(), s.first.planes),
                  found = evaluate(ctx, own, s.pairs(), s.first.planes);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(expected.cost, found.cost);
  EXPECT_EQ(expected.force, found.force);
}

TEST_P(Channels, OnOtherGridsAreRefused) {
  const TwoChannels s(ctx);
  const PairScene other({21, 19, 12});
  const Volume<float> f(ctx, other.fixed, other.f);
  ChannelMeasure two(choice_of("ssd"), 2);
  EXPECT_THROW(two.prepare(ctx, std::vector<ImagePair>{s.pairs()[0], {f, s.m1, s.first.map}}),
               InvalidArgument);
  EXPECT_THROW(two.prepare(ctx, std::vector<ImagePair>{s.pairs()[0]}), InvalidArgument);
}

TEST(ChannelWeights, SumToOneAndAreOnePerChannel) {
  EXPECT_EQ(choice_of("ssd").weights_of(4), std::vector<double>(4, 0.25));
  EXPECT_EQ(choice_of("ssd", {1, 3}).weights_of(2), (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(choice_of("ssd", {7}).weights_of(1), std::vector<double>{1});
  EXPECT_THROW(choice_of("ssd", {1, 3}).weights_of(3), InvalidArgument);
  EXPECT_THROW(ChannelMeasure(choice_of("ssd", {1, 3}), 1), InvalidArgument);
  for (const double wrong : {0.0, -1.0, double(NAN), double(INFINITY), 1e7})
    EXPECT_THROW(choice_of("ssd", {1, wrong}).validate(), InvalidArgument) << wrong;
  EXPECT_EQ(linear_choice(choice_of("lncc", {1, 3})).channel_weights, (std::vector<double>{1, 3}));
}

}  // namespace
}  // namespace freeflow
