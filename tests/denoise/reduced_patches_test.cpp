// The CPU's search: bounds that never exceed the distance, boxes that hold their patches, and the
// neighbours of an oracle that sums and sorts in its own words.
#include <freeflow/denoise/patch_search/reduced_patches.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <freeflow/denoise/patch_search/distance_body.h>

#include "denoise/patches.h"

namespace freeflow {
namespace {

using namespace test;

/// Patches that are hard on a bound or on the order of ties.
struct Family {
  std::string name;
  int length = 0;
  std::vector<float> values;

  int stride() const { return PatchView::stride_of(length); }
  int count() const { return int(values.size() / std::size_t(stride())); }
  const float* patch(int i) const { return &values[std::size_t(i) * stride()]; }
  PatchView view() const { return {values.data(), count(), length, stride()}; }
};

/// value(i, k) for the values of patch i.
template <class F>
Family family(const std::string& name, int count, int length, const F& value) {
  Family f{name, length, {}};
  f.values.assign(std::size_t(count) * f.stride(), 0.0f);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < length; ++k) f.values[std::size_t(i) * f.stride() + k] = float(value(i, k));
  return f;
}

std::vector<Family> hard_families() {
  const std::vector<float> r = random_values(std::size_t(400) * 729, 11, -1, 1);
  const auto noise = [&](int i, int k, int length) { return r[std::size_t(i) * length + k]; };
  std::vector<Family> all;
  all.push_back({"planes", 125, noisy_patches(400, 125, 0.3f, 21)});
  all.push_back({"planes without noise", 343, noisy_patches(200, 343, 0.0f, 22)});
  all.push_back({"nine cubed", 729, noisy_patches(130, 729, 0.2f, 23)});
  for (const int length : {1, 7, 16, 17, 125})
    all.push_back(family("noise of " + std::to_string(length), 300, length,
                         [&](int i, int k) { return noise(i, k, length); }));
  all.push_back(family("all equal", 300, 125, [](int, int k) { return k % 5 - 2; }));
  all.push_back(family("nothing", 200, 27, [](int, int) { return 0; }));
  all.push_back(family("few kinds", 390, 125, [](int i, int k) { return i * 7 % 13 * (k % 3); }));
  all.push_back(family("one value differs", 260, 125,
                       [](int i, int k) { return i % 125 == k ? 1 + i / 125 : 0; }));
  all.push_back(family("far from zero", 300, 125,
                       [&](int i, int k) { return 1e6f + 10 * noise(i, k, 125); }));
  all.push_back(family("far and one rounding apart", 300, 27,
                       [](int i, int k) { return 8e6f + 0.5f * float((i >> k % 8) & 1); }));
  // Squares that underflow, one by one or only in part; values without an exponent of their own.
  for (const float scale : {3e-20f, 1e-22f, 2e-23f, 1e-41f, 1e12f, 5e13f})
    all.push_back(family("values of " + std::to_string(std::log10(scale)), 200, 125,
                         [&](int i, int k) { return scale * noise(i, k, 125); }));
  all.push_back(family("huge and tiny", 300, 125, [&](int i, int k) {
    return (i % 3 == 0 ? 1e13f : i % 3 == 1 ? 1.0f : 1e-20f) * noise(i, k, 125);
  }));
  // Distances that are summed too small: all but the first terms of every lane are rounded away.
  all.push_back(family("terms rounded away", 200, 729,
                       [](int i, int k) { return i % 2 * (k < 8 ? 1.0f : 2.4e-4f); }));
  all.push_back(family("steps of a rounding", 300, 125,
                       [](int i, int k) { return 1 + 0x1p-23f * float(i * (k + 3) % 11); }));
  return all;
}

struct Reduced {
  std::vector<std::byte> memory;
  ReducedPatches patches;
};

Reduced reduced_patches(const Family& f, int threads = 2) {
  Reduced r{std::vector<std::byte>(ReducedPatches::scratch_bytes(f.view()) + 64), {}};
  void* place = r.memory.data();
  std::size_t room = r.memory.size();
  r.patches = ReducedPatches::make(
      f.view(), static_cast<std::byte*>(std::align(64, room - 64, place, room)), threads);
  return r;
}

float number(const ReducedPatches& r, int slot, int d) {
  const int leaf = ReducedPatches::leaf;
  return r.numbers[(std::size_t(slot / leaf) * ReducedPatches::width + d) * leaf + slot % leaf];
}

float reduced_distance(const ReducedPatches& r, int a, int b) {
  float sum = 0;
  for (int d = 0; d < ReducedPatches::width; ++d) {
    const float apart = number(r, b, d) - number(r, a, d);
    sum = std::fma(apart, apart, sum);
  }
  return sum;
}

/// The distance as distance_body.h describes it.
float summed_distance(const float* a, const float* b, int stride) {
  std::vector<float> lane(8, 0.0f);
  for (int k = 0; k < stride; ++k) lane[k % 8] = std::fma(a[k] - b[k], a[k] - b[k], lane[k % 8]);
  for (int half = 4; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

Neighbours nearest(const Family& f, int m, int first, int rows) {
  Neighbours found;
  for (int i = first; i < first + rows; ++i) {
    std::vector<std::pair<float, int>> all;
    all.reserve(std::size_t(f.count()));
    for (int j = 0; j < f.count(); ++j)
      all.emplace_back(summed_distance(f.patch(i), f.patch(j), f.stride()), j);
    std::sort(all.begin(), all.end());
    for (int k = 0; k < m; ++k) {
      found.distance.push_back(all[k].first);
      found.index.push_back(all[k].second);
    }
  }
  return found;
}

TEST(ReducedPatches, NeverExceedTheDistance) {
  for (const Family& f : hard_families()) {
    const Reduced made = reduced_patches(f);
    const ReducedPatches& r = made.patches;
    int exceeded = 0;
    for (int a = 0; a < f.count(); ++a)
      for (int b = 0; b < f.count(); ++b) {
        const float d = patch_distance(f.patch(r.order[a]), f.patch(r.order[b]), f.stride());
        exceeded += !(reduced_distance(r, a, b) <= r.reach(d));
      }
    EXPECT_EQ(exceeded, 0) << f.name;
  }
}

TEST(ReducedPatches, BoundTightlyWhatIsSmooth) {
  // Four dimensions and a little noise: of the distance between planes next to nothing is lost.
  const Family f{"planes", 125, noisy_patches(400, 125, 0.05f, 31)};
  const Reduced made = reduced_patches(f);
  for (int a = 0; a < f.count(); ++a) {
    const int b = (a + 200) % f.count();
    const float d =
        patch_distance(f.patch(made.patches.order[a]), f.patch(made.patches.order[b]), f.stride());
    EXPECT_GT(reduced_distance(made.patches, a, b), d - 0.6f);
  }
}

TEST(ReducedPatches, ReachIsLittleMoreThanTheDistance) {
  const Family f{"planes", 125, noisy_patches(400, 125, 0.3f, 32)};
  const Reduced made = reduced_patches(f);
  for (const float d : {1e-3f, 1.0f, 50.0f}) {
    EXPECT_GT(made.patches.reach(d), d);
    EXPECT_LT(made.patches.reach(d), 1.01f * d);
  }
}

TEST(ReducedPatches, BoundNothingWhereSquaresMayOverflow) {
  for (const float value : {1e16f, 3e38f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    Family f{"planes", 125, noisy_patches(200, 125, 0.3f, 33)};
    f.values[std::size_t(100) * f.stride() + 7] = value;
    const Reduced made = reduced_patches(f);
    EXPECT_EQ(made.patches.reach(0), std::numeric_limits<float>::infinity()) << value;
    EXPECT_EQ(reduced_distance(made.patches, 0, 150), 0) << value;
  }
}

TEST(ReducedPatches, StandInLeavesWhoseBoxesHoldThem) {
  for (const Family& f : hard_families()) {
    const Reduced made = reduced_patches(f, 3);
    const ReducedPatches& r = made.patches;
    std::vector<std::int32_t> seen(r.order, r.order + f.count());
    int held = 0;
    for (int slot = 0; slot < f.count(); ++slot) {
      const int leaf = slot / ReducedPatches::leaf;
      EXPECT_TRUE(slot % ReducedPatches::leaf == 0 || r.order[slot - 1] < r.order[slot]);
      EXPECT_TRUE(std::equal(f.patch(r.order[slot]), f.patch(r.order[slot]) + f.stride(),
                             r.values + std::size_t(slot) * f.stride()));
      for (int d = 0; d < ReducedPatches::width; ++d) {
        const std::size_t at = std::size_t(d) * r.leaves + leaf;
        held += r.low[at] <= number(r, slot, d) && number(r, slot, d) <= r.high[at];
      }
    }
    EXPECT_EQ(held, f.count() * ReducedPatches::width) << f.name;
    std::sort(seen.begin(), seen.end());
    std::vector<std::int32_t> all(seen.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all) << f.name;
  }
}

/// The first m of the most.
Neighbours first_of(const Neighbours& all, int most, int m) {
  Neighbours part;
  for (std::size_t row = 0; row < all.index.size(); row += most)
    for (int k = 0; k < m; ++k) {
      part.index.push_back(all.index[row + k]);
      part.distance.push_back(all.distance[row + k]);
    }
  return part;
}

TEST(PatchSearchOnCpu, FindsWhatTheOracleFindsForAnyNumberOfThreads) {
  for (const Family& f : hard_families()) {
    const int most = std::min(f.count(), 256);
    const Neighbours all = nearest(f, most, 0, f.count());
    for (const int m : {1, 96, most})
      for (const int threads : {1, 2, 3, 7}) {
        Context ctx({}, threads);
        EXPECT_TRUE(search(ctx, SearchStrategy::automatic, f.values, f.length, m) ==
                    first_of(all, most, m))
            << f.name << ", " << m << " neighbours, " << threads << " threads";
      }
  }
}

TEST(PatchSearchOnCpu, FindsAsManyAsThereAre) {
  Context ctx({}, 2);
  for (const int count : {1, 2, 63, 64, 65, 128, 129}) {
    const Family f{"planes", 125, noisy_patches(count, 125, 0.2f, unsigned(count))};
    EXPECT_TRUE(search(ctx, SearchStrategy::automatic, f.values, 125, count) ==
                nearest(f, count, 0, count))
        << count;
  }
}

TEST(PatchSearchOnCpu, TakesValuesThatNoBoundIsSafeFor) {
  // Squares overflow: infinity is a distance like any other.
  const std::vector<float> r = random_values(std::size_t(200) * 27, 41, -1, 1);
  Context ctx({}, 2);
  for (const float scale : {1e16f, 1e19f, 3e38f}) {
    const Family f = family("huge", 200, 27, [&](int i, int k) {
      return (i % 2 ? scale : 1.0f) * r[std::size_t(i) * 27 + k];
    });
    EXPECT_TRUE(search(ctx, SearchStrategy::automatic, f.values, 27, 150) ==
                nearest(f, 150, 0, 200))
        << scale;
  }
}

TEST(PatchSearchOnCpu, SearchesForAnyRows) {
  const Family f{"planes", 125, noisy_patches(400, 125, 0.3f, 51)};
  Context ctx({}, 2);
  for (const auto& [first, rows] :
       {std::pair{0, 1}, std::pair{399, 1}, std::pair{17, 200}, std::pair{200, 200}})
    EXPECT_TRUE(search(ctx, SearchStrategy::automatic, f.values, 125, 40, first, rows) ==
                nearest(f, 40, first, rows))
        << first;
}

}  // namespace
}  // namespace freeflow
