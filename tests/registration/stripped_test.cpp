// A brain without its skull beside a whole head: what counts of it, and that a search from the
// whole does not stretch it over the head.
#include <freeflow/registration/linear/stripped.h>

#include <algorithm>
#include <limits>

#include <freeflow/registration/linear/linear.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace stripped_test {

using namespace test;

const Geometry grid = [] {
  Geometry g = oblique_geometry({50, 52, 36}, {2.6, 2.5, 3.5});
  g.origin = Eigen::Vector3d::Zero();
  g.origin = -g.center();
  return g;
}();

/// From points of a head to those of the next one's.
const Eigen::Affine3d truth = Eigen::Translation3d(3, -4, 2) *
                              Eigen::AngleAxisd(0.15, Eigen::Vector3d(0.3, 0.2, 0.9).normalized()) *
                              Eigen::Scaling(1.05);

double radius_at(const Eigen::Vector3d& p) {
  return Eigen::Vector3d(p.x() / 0.85, p.y() / 1.1, p.z()).norm() + 0.08 * p.y();
}
bool is_brain(const Eigen::Vector3d& p) { return radius_at(p) < 21; }
/// Tissue of some structure, or of none.
double brain(const Eigen::Vector3d& p) { return 60 + 6 * texture(p); }
double plain(const Eigen::Vector3d& /*p*/) { return 30; }
/// Around it a dark layer, a bright one that is no hull of it, and air.
double around(const Eigen::Vector3d& p) {
  const double outer = Eigen::Vector3d(p.x() / 1.05, p.y() / 1.2, p.z() - 3).norm();
  if (radius_at(p) < 24) return 12;
  return outer < 36 ? 90 + 15 * texture(0.7 * p) : 0;
}

enum class Shown { whole, stripped };

template <class Inside>
std::vector<float> image(const Inside& inside, Shown shown,
                         const Eigen::Affine3d& to_head = Eigen::Affine3d::Identity()) {
  Context cpu;
  return sample_world(cpu, grid,
                      [&](const Eigen::Vector3d& x) {
                        const Eigen::Vector3d p = to_head * x;
                        if (is_brain(p)) return inside(p);
                        return shown == Shown::whole ? around(p) : 0.0;
                      })
      .to_host(cpu);
}

/// Noise of its own in what is plain.
std::vector<float> noisy(std::vector<float> voxels, unsigned seed) {
  const std::vector<float> noise = random_values(voxels.size(), seed, -10, 10);
  for (std::size_t i = 0; i < voxels.size(); ++i)
    if (voxels[i] == 30) voxels[i] += noise[i];
  return voxels;
}

class Stripped : public OnDevice {
 protected:
  std::vector<std::uint8_t> counts(const std::vector<float>& one, const std::vector<float>& other) {
    return stripped_object(ctx, {grid, one}, {grid, other});
  }
};
FREEFLOW_ON_EVERY_DEVICE(Stripped);

TEST_P(Stripped, OnlyTheBrainCountsBesideAWholeHead) {
  const std::vector<float> alone = image(brain, Shown::stripped),
                           whole = image(brain, Shown::whole, truth);
  const std::vector<std::uint8_t> found = counts(alone, whole);
  ASSERT_EQ(found.size(), alone.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], alone[i] != 0) << i;
  EXPECT_TRUE(counts(whole, alone).empty()) << "the head counts whole";
  EXPECT_TRUE(counts(alone, image(brain, Shown::stripped, truth)).empty()) << "two brains";
  EXPECT_TRUE(counts(image(brain, Shown::whole), whole).empty()) << "two heads";
}

TEST_P(Stripped, ALargerObjectShowsNothingAround) {
  const Eigen::Affine3d larger(Eigen::Scaling(1 / 1.25));  // of twice the volume
  for (const Shown shown : {Shown::stripped, Shown::whole})
    EXPECT_TRUE(counts(image(brain, shown), image(brain, shown, larger)).empty());
}

/// The first slices of an image from one on, with its grid.
std::pair<Geometry, std::vector<float>> slices(const std::vector<float>& voxels, int first,
                                               int count) {
  Geometry part = grid;
  part.extent.z = count;
  part.origin = grid.index_to_world() * Eigen::Vector3d(0, 0, first);
  const auto begin = voxels.begin() + std::ptrdiff_t(grid.extent.offset(0, 0, first));
  return {part, {begin, begin + std::ptrdiff_t(part.extent.count())}};
}

TEST_P(Stripped, ASlabIsSeenAsTheObjectIsThatItIsCutFrom) {
  const auto beside = [&](Shown slab_shows, Shown shown) {
    const auto [slab, voxels] = slices(image(brain, slab_shows), 11, 14);
    const std::vector<float> whole = image(brain, shown, truth);
    const std::vector<std::uint8_t> found = stripped_object(ctx, {slab, voxels}, {grid, whole});
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], voxels[i] != 0) << i;
    return !found.empty();
  };
  EXPECT_TRUE(beside(Shown::stripped, Shown::whole));
  EXPECT_FALSE(beside(Shown::stripped, Shown::stripped));
  EXPECT_FALSE(beside(Shown::whole, Shown::whole));
}

TEST_P(Stripped, BeyondAPlaneThereIsNoBackground) {
  for (const Shown shown : {Shown::stripped, Shown::whole}) {
    std::vector<float> half = image(brain, shown);
    const Extent n = grid.extent;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = n.x / 2; x < n.x; ++x)
          half[n.offset(x, y, z)] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::uint8_t> found = counts(half, image(brain, Shown::whole, truth));
    ASSERT_EQ(found.size(), shown == Shown::stripped ? half.size() : 0);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], half[i] > 0) << i;
  }
}

TEST_P(Stripped, AFieldOfViewMayEndAtOneSide) {
  const std::vector<float> whole = image(brain, Shown::whole, truth);
  for (const Shown shown : {Shown::stripped, Shown::whole}) {
    const auto [upper, voxels] = slices(image(brain, shown), 15, grid.extent.z - 15);
    const std::vector<std::uint8_t> found = stripped_object(ctx, {upper, voxels}, {grid, whole});
    ASSERT_EQ(found.size(), shown == Shown::stripped ? voxels.size() : 0);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], voxels[i] != 0) << i;
  }
}

TEST_P(Stripped, WhatHasNoStructureKeepsItsEdge) {
  const std::vector<float> alone = noisy(image(plain, Shown::stripped), 1),
                           whole = noisy(image(plain, Shown::whole, truth), 2);
  const std::vector<std::uint8_t> found = counts(alone, whole);
  ASSERT_EQ(found.size(), alone.size());
  std::int64_t object = 0, all = 0, outside = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    all += found[i];
    object += alone[i] != 0;
    outside += alone[i] != 0 && !found[i];
  }
  EXPECT_EQ(outside, 0);
  EXPECT_GT(double(all), 1.3 * double(object));
  EXPECT_LT(double(all), 2.5 * double(object));
}

TEST_P(Stripped, TheOrderOfStorageChangesNoFlag) {
  const std::vector<float> alone = noisy(image(plain, Shown::stripped), 1),
                           whole = noisy(image(plain, Shown::whole, truth), 2);
  const std::vector<std::uint8_t> found = counts(alone, whole);
  ASSERT_FALSE(found.empty());
  Geometry turned = grid;  // the last voxel first
  turned.origin = grid.index_to_world() * Eigen::Vector3d(49, 51, 35);
  turned.direction = -grid.direction;
  const std::vector<float> backwards(alone.rbegin(), alone.rend());
  std::vector<std::uint8_t> other = stripped_object(ctx, {turned, backwards}, {grid, whole});
  std::ranges::reverse(other);
  EXPECT_EQ(other, found);
}

TEST_P(Stripped, OneVoxelBesideTheHeadShowsNothing) {
  std::vector<float> other = image(brain, Shown::whole, truth);
  for (const float value : {1e7f, -1e7f}) {
    other[grid.extent.offset(25, 8, 18)] = value;
    EXPECT_TRUE(counts(image(brain, Shown::whole), other).empty());
    EXPECT_TRUE(
        counts(image(brain, Shown::stripped), image(brain, Shown::stripped, truth)).empty());
  }
}

TEST_P(Stripped, AnotherValueOrContrastChangesNothing) {
  std::vector<float> alone = image(brain, Shown::stripped),
                     whole = image(brain, Shown::whole, truth);
  const std::vector<std::uint8_t> found = counts(alone, whole);
  ASSERT_FALSE(found.empty());
  for (float& v : alone) v = 1000 - 4 * v;
  for (float& v : whole) v = v > 0 ? 200 - v : 0;
  EXPECT_EQ(counts(alone, whole), found);
  alone.back() = 1000 - 4;  // a corner that differs
  EXPECT_TRUE(counts(alone, whole).empty());
}

TEST_P(Stripped, ABrainUnderAMaskIsNotStretchedOverTheHead) {
  const std::vector<float> fixed = image(brain, Shown::whole),
                           moving = image(brain, Shown::whole, truth.inverse());
  std::vector<float> mask = image(brain, Shown::stripped, truth.inverse());
  std::ranges::transform(mask, mask.begin(), [](float v) { return v != 0 ? 1.0f : 0.0f; });
  const Volume<float> mask_volume(ctx, grid, mask);
  const LinearResult r =
      register_linear(ctx, Volume<float>(ctx, grid, fixed), Volume<float>(ctx, grid, moving), {},
                      {.moving = &mask_volume});
  double error = 0;
  for (const Eigen::Vector3d& p : {Eigen::Vector3d(12, 5, -4), Eigen::Vector3d(-10, 9, 8),
                                   Eigen::Vector3d(3, -14, 2), Eigen::Vector3d(0, 4, -13)})
    error = std::max(error, (r.affine * p - truth * p).norm());
  EXPECT_LT(error, 1.0) << "mm, of voxels of 2.5 to 3.5";
  EXPECT_TRUE(compose(r.parts, r.center).isApprox(r.affine, 1e-12));
  EXPECT_GT(r.overlap_after, 0.005);
  EXPECT_LT(r.overlap_after, 0.03) << "of the fixed image, most of which lies around the brain";
}

}  // namespace stripped_test
}  // namespace freeflow
