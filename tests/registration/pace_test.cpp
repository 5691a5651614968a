// How long the steps of a flow are, and when a level ends.
#include <freeflow/registration/flow/pace.h>

#include <gtest/gtest.h>

namespace freeflow {
namespace {

/// How many of at most 100 costs it takes.
template <class Cost>
int taken(FlowPace& pace, Cost cost) {
  for (int k = 0; k < 100; ++k)
    if (!pace.goes_on(cost(k))) return k + 1;
  return 100;
}

TEST(Pace, HoldsAsLongAsTheCostFalls) {
  FlowPace pace(0.5, 1e-4, 2);
  EXPECT_EQ(taken(pace, [](int k) { return -1 - 0.01 * k; }), 100);
  EXPECT_EQ(pace.step(), 0.5);
  EXPECT_FALSE(pace.idles());
}

TEST(Pace, HalvesTheStepAfterTenCostsWithoutGainAndEndsAfterTheLastSize) {
  const auto still = [](int) { return -1.0; };
  for (int sizes = 1; sizes <= 3; ++sizes) {
    FlowPace pace(0.5, 1e-4, sizes);
    EXPECT_EQ(taken(pace, still), 1 + 10 * sizes) << "the first cost is a gain";
  }
  FlowPace pace(0.5, 1e-4, 2);
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(pace.goes_on(-1));
  EXPECT_TRUE(pace.idles());
  EXPECT_EQ(pace.step(), 0.5);
  ASSERT_TRUE(pace.goes_on(-1));
  EXPECT_EQ(pace.step(), 0.25);
  EXPECT_FALSE(pace.idles()) << "counts anew";
}

TEST(Pace, WaitsAsLongAsItIsTold) {
  FlowPace pace(0.5, 1e-4, 4, 5);
  EXPECT_EQ(taken(pace, [](int) { return -1.0; }), 1 + 5 * 4);
  FlowPace gaining(0.5, 1e-4, 4, 5);
  const auto every_fifth_gains = [](int k) {
    const int gains = k / 5;
    return -1 - 0.01 * gains;
  };
  EXPECT_EQ(taken(gaining, every_fifth_gains), 100);
  EXPECT_EQ(gaining.step(), 0.5);
}

TEST(Pace, TakesLessThanTheToleranceForNoGain) {
  FlowPace pace(0.5, 1e-2, 1);
  EXPECT_EQ(taken(pace, [](int k) { return -1 - 1e-4 * k; }), 11);
  FlowPace finer(0.5, 1e-5, 1);
  EXPECT_EQ(taken(finer, [](int k) { return -1 - 1e-4 * k; }), 100);
}

TEST(Levels, GainWhereOneEndsLowerOrNoneHasAnythingToDo) {
  const auto level = [](int most, std::initializer_list<double> costs) {
    LevelRecord record;
    record.max_iterations = most;
    for (const double cost : costs) {
      record.iterations.emplace_back();
      record.iterations.back().cost = cost;
    }
    return record;
  };
  EXPECT_TRUE(any_level_gained({level(9, {-1, -1}), level(9, {-1, -2})}));
  EXPECT_TRUE(any_level_gained({level(0, {}), level(0, {})}));
  EXPECT_FALSE(any_level_gained({level(0, {}), level(9, {-1, -1})}));
  EXPECT_FALSE(any_level_gained({level(9, {}), level(9, {-1, -1})}));
}

TEST(StopObserver, OfNothingNeverStops) { EXPECT_FALSE(StopObserver({}).stop_requested()); }

}  // namespace
}  // namespace freeflow
