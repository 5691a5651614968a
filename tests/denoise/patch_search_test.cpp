// The m most similar patches: against a plain double loop, and the same from every strategy, device
// and number of threads.
#include <freeflow/denoise/patch_search/patch_search.h>

#include <algorithm>

#include <freeflow/core/error.h>
#include <freeflow/denoise/patch_search/distance_body.h>

#include "denoise/patches.h"
#include "reference/patch_search.h"
#include "support/chosen_schemes.h"
#include "support/devices.h"

namespace freeflow {
namespace {

using namespace test;

/// Exhaustive, by the distance that decides: for the very neighbours, ties included.
Neighbours exhaustive(const std::vector<float>& values, int length, int m) {
  const int stride = PatchView::stride_of(length), count = int(values.size() / std::size_t(stride));
  Neighbours found;
  for (int i = 0; i < count; ++i) {
    std::vector<CandidateKey> keys;
    keys.reserve(std::size_t(count));
    for (int j = 0; j < count; ++j)
      keys.push_back(candidate_key(patch_distance(&values[std::size_t(i) * stride],
                                                  &values[std::size_t(j) * stride], stride),
                                   j));
    std::partial_sort(keys.begin(), keys.begin() + m, keys.end());
    for (int k = 0; k < m; ++k) {
      found.index.push_back(key_index(keys[k]));
      found.distance.push_back(key_distance(keys[k]));
    }
  }
  return found;
}

/// Against distances in double, which know nothing of the library's.
void expect_most_similar(const Neighbours& found, const std::vector<float>& values, int length,
                         int m, const std::string& what) {
  const int stride = PatchView::stride_of(length), count = int(values.size() / std::size_t(stride));
  for (int i = 0; i < count; ++i) {
    const std::size_t row = std::size_t(i) * std::size_t(m);
    ASSERT_EQ(reference::fault_of_neighbours(reference::patch_distances(values, length, stride, i),
                                             &found.index[row], &found.distance[row], m),
              "")
        << what << ", patch " << i;
  }
}

TEST(PatchDistance, IsTheSumOfSquares) {
  const std::vector<float> values = noisy_patches(2, 125, 0.3f, 1);
  double expected = 0;
  for (int k = 0; k < 125; ++k)
    expected += (double(values[k]) - values[128 + k]) * (double(values[k]) - values[128 + k]);
  EXPECT_NEAR(patch_distance(values.data(), values.data() + 128, 128), expected, 1e-6 * expected);
  EXPECT_LT(candidate_key(1.0f, 7), candidate_key(1.0f, 8));
  EXPECT_LT(candidate_key(1.0f, 8), candidate_key(1.0000001f, 0));
  EXPECT_EQ(key_index(no_candidate), -1);
}

class PatchSearch : public OnDevice {};

TEST_P(PatchSearch, FindsTheMostSimilarWithEveryStrategy) {
  struct Case {
    int count, length, m;
    float noise;
  };
  // One row and one tile more or less than the blocks of the kernels; patches of 3^3 to 9^3; tight
  // and wide noise.
  for (const Case& c :
       {Case{1, 27, 1, 0.1f}, Case{127, 125, 96, 0.2f}, Case{129, 125, 96, 0.2f},
        Case{1500, 125, 96, 0.5f}, Case{700, 27, 33, 0.001f}, Case{600, 343, 96, 0.2f},
        Case{520, 729, 200, 0.2f}, Case{300, 125, 256, 0.0f}}) {
    const std::vector<float> values = noisy_patches(c.count, c.length, c.noise, unsigned(c.count));
    const Neighbours expected = exhaustive(values, c.length, c.m);
    expect_most_similar(search(ctx, SearchStrategy::automatic, values, c.length, c.m), values,
                        c.length, c.m, std::to_string(c.count) + " patches");
    for (const SearchStrategyInfo& s : chosen(search_strategies()))
      EXPECT_TRUE(search(ctx, s.strategy, values, c.length, c.m) == expected)
          << s.name << ", " << c.count << " patches of " << c.length << ", " << c.m
          << " neighbours, noise " << c.noise;
  }
}

TEST_P(PatchSearch, BreaksTiesByTheIndex) {
  // Different patches, each a hundred times and more: most distances are equal, and most are zero.
  // Of two kinds there are enough before the columns are looked at in their order.
  struct Case {
    int kinds, count;
  };
  const std::vector<float> ten = noisy_patches(10, 125, 0.2f, 3);
  for (const Case& c : {Case{10, 1700}, Case{2, 1300}}) {
    std::vector<float> values;
    values.reserve(std::size_t(c.count) * 128);
    for (int i = 0; i < c.count; ++i)
      values.insert(values.end(), ten.begin() + i * 7 % c.kinds * 128,
                    ten.begin() + (i * 7 % c.kinds + 1) * 128);
    const Neighbours expected = exhaustive(values, 125, 96);
    EXPECT_EQ(expected.distance[95], 0);
    for (const SearchStrategyInfo& s : chosen(search_strategies()))
      EXPECT_TRUE(search(ctx, s.strategy, values, 125, 96) == expected) << s.name << c.kinds;
  }
}

TEST_P(PatchSearch, OrderOfThePatchesDoesNotMatter) {
  // Similarity that grows towards the end of the list keeps every bound late.
  std::vector<float> values = noisy_patches(900, 125, 0.1f, 5);
  for (int i = 0; i < 900; ++i)
    for (int k = 0; k < 125; ++k) values[std::size_t(i) * 128 + k] += 0.01f * float(900 - i);
  const Neighbours expected = exhaustive(values, 125, 40);
  for (const SearchStrategyInfo& s : chosen(search_strategies()))
    EXPECT_TRUE(search(ctx, s.strategy, values, 125, 40) == expected) << s.name;
}

TEST_P(PatchSearch, RoundingToHalvesLosesNoNeighbour) {
  // In half precision patch 0 goes down and patch 200 up by nearly half a step in every value: of
  // all patches that far away none looks farther. Those in front of it, a little less similar, are
  // halves and fill the list first.
  const float step = 1.0f / 1024;
  std::vector<float> values(300 * std::size_t(128), 0.0f);
  const auto fill = [&](int i, float value) {
    std::fill_n(&values[std::size_t(i) * 128], 125, value);
  };
  for (int i = 0; i < 300; ++i) fill(i, 1 + 101 * step);
  fill(0, 1 + 0.49f * step);
  fill(200, 1 + 100.51f * step);
  const Neighbours expected = exhaustive(values, 125, 8);
  ASSERT_EQ(expected.index[1], 200);
  for (const SearchStrategyInfo& s : chosen(search_strategies()))
    EXPECT_TRUE(search(ctx, s.strategy, values, 125, 8) == expected) << s.name;
}

TEST_P(PatchSearch, TakesSlabsOfRows) {
  const std::vector<float> values = noisy_patches(777, 125, 0.2f, 9);
  const Neighbours all = search(ctx, SearchStrategy::automatic, values, 125, 96);
  for (const SearchStrategyInfo& s : chosen(search_strategies())) {
    const Neighbours part = search(ctx, s.strategy, values, 125, 96, 300, 333);
    EXPECT_TRUE(std::equal(part.index.begin(), part.index.end(), all.index.begin() + 300 * 96))
        << s.name;
    EXPECT_TRUE(
        std::equal(part.distance.begin(), part.distance.end(), all.distance.begin() + 300 * 96))
        << s.name;
  }
}

TEST_P(PatchSearch, RefusesWhatItCannotDo) {
  const std::vector<float> values = noisy_patches(50, 27, 0.2f, 9);
  EXPECT_THROW(search(ctx, SearchStrategy::automatic, values, 27, 51), InvalidArgument);
  EXPECT_THROW(search(ctx, SearchStrategy::automatic, values, 27, 0), InvalidArgument);
  EXPECT_THROW(search(ctx, SearchStrategy::automatic, values, 27, 10, 40, 11), InvalidArgument);
}

FREEFLOW_ON_EVERY_DEVICE(PatchSearch);

TEST(PatchSearchOnCpu, DoesNotDependOnTheThreads) {
  Context one({}, 1), three({}, 3);
  const std::vector<float> values = noisy_patches(1000, 125, 0.2f, 4);
  EXPECT_TRUE(search(one, SearchStrategy::automatic, values, 125, 96) ==
              search(three, SearchStrategy::automatic, values, 125, 96));
}

TEST(PatchSearchOnCpu, StopsWhenTheProgressSaysSo) {
  Context ctx({}, 2);
  const std::vector<float> values = noisy_patches(1000, 125, 0.2f, 4);
  const Buffer<float> patches(ctx, values);
  const Buffer<std::int32_t> index(ctx, 96000);
  const Buffer<float> distance(ctx, 96000);
  struct Enough {};
  EXPECT_THROW(
      find_similar(ctx, SearchStrategy::automatic, {patches.data(), 1000, 125, 128}, 0, 1000,
                   {index.data(), distance.data(), 96}, [](double) { throw Enough{}; }),
      Enough);
}

}  // namespace
}  // namespace freeflow
