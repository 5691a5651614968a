// Dice of label volumes, against counts by hand.
#include <freeflow/evaluation/label_overlap.h>

#include <gtest/gtest.h>

#include <cmath>

#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

TEST(LabelOverlap, CountsVoxelsPerLabel) {
  Context cpu;
  const Geometry g = plain_geometry({5, 2, 1});
  const Volume<std::int32_t> first(cpu, g, {0, 1, 1, 1, -7, 2, 2, 0, 0, 3});
  const Volume<std::int32_t> second(cpu, g, {1, 1, 1, 0, -7, 2, 9, 9, 0, 0});
  const std::vector<std::int32_t> labels = {2, 1, 3, 4, -7};
  const std::vector<LabelOverlap> overlaps = label_overlap(cpu, first, second, labels);
  ASSERT_EQ(overlaps.size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(overlaps[i].label, labels[i]);
  EXPECT_DOUBLE_EQ(overlaps[0].dice(), 2.0 / 3);
  EXPECT_EQ(overlaps[1].first_voxels, 3u);
  EXPECT_EQ(overlaps[1].second_voxels, 3u);
  EXPECT_EQ(overlaps[1].common_voxels, 2u);
  EXPECT_EQ(overlaps[2].dice(), 0) << "missing in one";
  EXPECT_TRUE(std::isnan(overlaps[3].dice())) << "missing in both";
  EXPECT_EQ(overlaps[4].dice(), 1);
}

TEST(LabelOverlap, WantsOneGridAndEachLabelOnce) {
  Context cpu;
  const Volume<std::int32_t> one(cpu, plain_geometry({2, 2, 2}), std::vector<std::int32_t>(8)),
      wider(cpu, plain_geometry({2, 2, 2}, 1.5), std::vector<std::int32_t>(8));
  const std::vector<std::int32_t> once = {1}, twice = {1, 1};
  EXPECT_THROW(label_overlap(cpu, one, wider, once), InvalidArgument);
  EXPECT_THROW(label_overlap(cpu, one, one, twice), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
