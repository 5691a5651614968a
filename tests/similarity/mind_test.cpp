// The self-similarity context against an oracle written from the paper, its value and force against
// the definition and its differences.
#include <freeflow/similarity/mind.h>

#include <algorithm>

#include "reference/mind.h"
#include "similarity/pair_scene.h"
#include "support/devices.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;
using Channels = std::vector<reference::MindChannels>;

struct Scene : PairScene {
  explicit Scene(Extent n = {21, 19, 11}, Extent moving_n = {25, 18, 14})
      : PairScene(n, moving_n, 2, 300, 40) {}
};

Evaluated evaluate(Context& ctx, const MindOptions& options, const Scene& s) {
  Mind mind(options);
  return test::evaluate(ctx, mind, s);
}

IntensityRange range_of(const Geometry& g, const std::vector<float>& voxels) {
  Context cpu;
  return robust_range(cpu, Volume<float>(cpu, g, voxels), "it");
}

std::vector<MindRecord> records_of(Context& ctx, const Geometry& g,
                                   const std::vector<float>& voxels, const MindOptions& options) {
  const Volume<float> image(ctx, g, voxels);
  return mind_descriptors(ctx, image, range_of(g, voxels), options).to_host(ctx);
}

int level(const MindRecord& r, int k) { return int(r.channels[k / 4] >> 8 * (k % 4) & 255); }
bool has(const MindRecord& r, int k) { return r.present >> k & 1; }

/// What the library's records say, in [0, 1].
Channels channels_of(const std::vector<MindRecord>& records) {
  Channels out(records.size());
  for (std::size_t i = 0; i < records.size(); ++i)
    for (int k = 0; k < MindRecord::count; ++k)
      out[i][k] = has(records[i], k) ? level(records[i], k) / 255.0 : NAN;
  return out;
}

reference::Mind oracle_of(const Geometry& g, const std::vector<float>& voxels,
                          const MindOptions& options) {
  const IntensityRange r = range_of(g, voxels);
  std::vector<double> image;
  image.reserve(voxels.size());
  for (const float v : voxels)
    image.push_back(std::isfinite(v)
                        ? std::clamp((v - r.low) / (double(r.high) - r.low) - 0.5, -2.0, 2.0)
                        : NAN);
  return {g.extent, image, options.radius, options.dilation};
}

/// Channels that exist in both, and the largest difference of one.
void expect_near(const std::vector<MindRecord>& a, const std::vector<MindRecord>& b, int levels) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].present, b[i].present) << i;
    for (int k = 0; k < MindRecord::count; ++k)
      ASSERT_LE(std::abs(level(a[i], k) - level(b[i], k)), levels) << i << ", channel " << k;
  }
}

/// Value and derivative from channels in double.
class Expected {
 public:
  Expected(const Scene& s, Channels f, Channels m)
      : s_(s), f_(std::move(f)), m_(std::move(m)), cost_(f_.size()) {
    for (std::size_t i = 0; i < f_.size(); ++i) {
      cost_[i] = of_voxel(i, Eigen::Vector3d::Zero());
      if (counts(i)) {
        total_ += cost_[i];
        number_ += 1;
      }
    }
  }
  bool counts(std::size_t i) const { return !std::isnan(cost_[i]); }
  double number() const { return number_; }
  double cost() const { return total_ / number_; }
  double force_error(const std::vector<float>& force, std::size_t stride) const {
    const std::size_t n = f_.size();
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < n; i += stride)
      for (int c = 0; c < 3; ++c) {
        if (!counts(i)) {
          EXPECT_EQ(force[i + c * n], 0.0f);
          continue;
        }
        const Eigen::Vector3d h = 1e-4 * Eigen::Vector3d::Unit(c);
        const double derivative = (of_voxel(i, h) - of_voxel(i, -h)) / 2e-4 / number_;
        if (std::isnan(derivative) || channels(i, h) != channels(i, -h)) continue;
        error += std::pow(derivative + force[i + c * n], 2);
        norm += derivative * derivative;
      }
    EXPECT_GT(norm, 0);
    return std::sqrt(error / norm);
  }

 private:
  int channels(std::size_t i, const Eigen::Vector3d& extra) const {
    const auto m = reference::mind_at(m_, s_.moving.extent, s_.position(i, extra));
    int bits = 0;
    for (int k = 0; k < 12; ++k) bits |= int(!std::isnan(m[k] + f_[i][k])) << k;
    return bits;
  }
  double of_voxel(std::size_t i, const Eigen::Vector3d& extra) const {
    const auto m = reference::mind_at(m_, s_.moving.extent, s_.position(i, extra));
    double sum = 0, number = 0;
    for (int k = 0; k < 12; ++k)
      if (!std::isnan(m[k] + f_[i][k])) {
        sum += std::pow(f_[i][k] - m[k], 2);
        number += 1;
      }
    return number > 0 ? sum / number : NAN;
  }

  const Scene& s_;
  Channels f_, m_;
  std::vector<double> cost_;
  double total_ = 0, number_ = 0;
};

class MindMeasure : public OnDevice {
 protected:
  void expect_oracle(const MindOptions& options, const Scene& s, std::size_t stride = 5) {
    const Evaluated e = evaluate(ctx, options, s);
    const Expected expected(s, channels_of(records_of(ctx, s.fixed, s.f, options)),
                            channels_of(records_of(ctx, s.moving, s.m, options)));
    EXPECT_NEAR(e.cost, expected.cost(), float_rounding);
    EXPECT_LT(expected.force_error(e.force, stride), gradient_relative);
  }
};
FREEFLOW_ON_EVERY_DEVICE(MindMeasure);

void spoil(std::vector<float>& voxels) {
  for (std::size_t i = 0; i < voxels.size(); i += 37) voxels[i] = NAN;
  for (std::size_t i = 5; i < voxels.size(); i += 211) voxels[i] = INFINITY;
}

TEST_P(MindMeasure, DescriptorsAreThoseOfThePaper) {
  for (const Extent n : {Extent{21, 19, 11}, Extent{23, 17, 1}, Extent{1, 17, 9}, Extent{6, 5, 4},
                         Extent{3, 40, 70}})
    for (const MindOptions& options :
         {MindOptions{1, 1}, MindOptions{1, 2}, MindOptions{2, 3}, MindOptions{3, 1}})
      for (const bool spoilt : {false, true}) {
        Scene s(n);
        if (spoilt) spoil(s.f);
        const auto records = records_of(ctx, s.fixed, s.f, options);
        const reference::Mind oracle = oracle_of(s.fixed, s.f, options);
        for (std::size_t i = 0; i < records.size(); ++i)
          for (int k = 0; k < MindRecord::count; ++k) {
            ASSERT_EQ(has(records[i], k), !std::isnan(oracle.at(i)[k])) << i << ", " << k;
            if (!has(records[i], k)) continue;
            ASSERT_NEAR(level(records[i], k) / 255.0, oracle.at(i)[k], 0.5 / 255 + 1e-3)
                << i << ", " << k;
          }
      }
}

TEST_P(MindMeasure, ValueIsTheMeanOverVoxelsAndChannelsAndItsForceTheDifferences) {
  const Scene s;
  for (const MindOptions& options : {MindOptions{1, 2}, MindOptions{2, 1}, MindOptions{1, 4}})
    expect_oracle(options, s);
  for (const Extent n : {Extent{23, 17, 1}, Extent{1, 17, 9}, Extent{140, 6, 5}})
    expect_oracle({}, Scene(n));
}

TEST_P(MindMeasure, EightBitsCostLittle) {
  const Scene s;
  const MindOptions options;
  Channels f, m;
  const reference::Mind fixed = oracle_of(s.fixed, s.f, options),
                        moving = oracle_of(s.moving, s.m, options);
  for (std::size_t i = 0; i < s.f.size(); ++i) f.push_back(fixed.at(i));
  for (std::size_t i = 0; i < s.m.size(); ++i) m.push_back(moving.at(i));
  const Expected expected(s, f, m);
  const Evaluated e = evaluate(ctx, options, s);
  EXPECT_NEAR(e.cost, expected.cost(), 1e-4);
  EXPECT_LT(expected.force_error(e.force, 5), 0.02);
}

TEST_P(MindMeasure, MaskedVoxelsNeitherCountNorMove) {
  Scene s;
  spoil(s.f);
  expect_oracle({}, s);
  const std::size_t column = 25 * 18;
  for (std::size_t i = 0; i < s.m.size(); ++i)
    if (i / column < 3 || i % 25 < 8) s.m[i] = NAN;  // the moving mask
  expect_oracle({}, s);
}

TEST_P(MindMeasure, AMaskIsACrop) {
  const Scene s({20, 18, 12});
  const Geometry small = oblique_geometry({13, 11, 7}, {1, 1.2, 2});
  const IntensityRange range{200, 400};
  std::vector<float> masked(s.f.size(), NAN), cropped;
  for (int z = 0; z < 7; ++z)
    for (int y = 0; y < 11; ++y)
      for (int x = 0; x < 13; ++x) {
        const std::size_t i = s.fixed.extent.offset(x + 3, y + 5, z + 4);
        cropped.push_back(masked[i] = s.f[i]);
      }
  const Volume<float> a(ctx, s.fixed, masked), b(ctx, small, cropped);
  const auto in_mask = mind_descriptors(ctx, a, range, {}).to_host(ctx);
  std::vector<MindRecord> inside;
  for (std::size_t i = 0; i < masked.size(); ++i)
    if (std::isfinite(masked[i]))
      inside.push_back(in_mask[i]);
    else
      EXPECT_EQ(in_mask[i].present, 0u);
  expect_near(inside, mind_descriptors(ctx, b, range, {}).to_host(ctx), 1);
}

TEST_P(MindMeasure, ContrastAndOffsetDoNotMatter) {
  const Scene s;
  const auto usual = records_of(ctx, s.fixed, s.f, {});
  for (const auto& [factor, offset] :
       {std::pair{-1.0f, 0.0f}, {3.0f, 0.0f}, {1e-6f, 0.0f}, {1e6f, 0.0f}, {-0.5f, 1e4f}}) {
    std::vector<float> other = s.f;
    for (float& v : other) v = factor * v + offset;
    expect_near(usual, records_of(ctx, s.fixed, other, {}), 1);
  }
  Scene alike;
  alike.moving = alike.fixed;
  alike.map = PointMap{};
  std::fill(alike.planes.begin(), alike.planes.end(), 0.0f);
  alike.m = alike.f;
  EXPECT_EQ(evaluate(ctx, {}, alike).cost, 0);
  for (float& v : alike.m) v = 1000 - 3 * v;
  EXPECT_LT(evaluate(ctx, {}, alike).cost, 1e-5);
  alike.m = random_values(alike.m.size(), 5);
  EXPECT_GT(evaluate(ctx, {}, alike).cost, 0.05);
}

/// The same moving anatomy, its axes reversed and in another order.
Scene stored_otherwise(const Scene& s, const std::array<int, 3>& axes,
                       const std::array<bool, 3>& reversed) {
  Scene t = s;
  const Extent n = s.moving.extent;
  t.moving.extent = {n[axes[0]], n[axes[1]], n[axes[2]]};
  for (int a = 0; a < 3; ++a) {
    for (int c = 0; c < 4; ++c) t.map.m[a][c] = (reversed[a] ? -1.0f : 1.0f) * s.map.m[axes[a]][c];
    if (reversed[a]) t.map.m[a][3] += float(n[axes[a]] - 1);
    t.moving.spacing[a] = s.moving.spacing[axes[a]];
  }
  t.m = voxelwise(t.moving.extent, [&](int x, int y, int z) {
    const int here[] = {x, y, z};
    int there[3];
    for (int a = 0; a < 3; ++a) there[axes[a]] = reversed[a] ? n[axes[a]] - 1 - here[a] : here[a];
    return s.m[n.offset(there[0], there[1], there[2])];
  });
  return t;
}

TEST_P(MindMeasure, HowAnImageIsStoredDoesNotMatter) {
  const Scene s;
  const Evaluated usual = evaluate(ctx, {}, s);
  for (const auto& axes : {std::array{0, 1, 2}, {1, 2, 0}, {2, 1, 0}, {0, 2, 1}})
    for (const auto& reversed : {std::array{false, false, false}, {true, false, true}}) {
      const Evaluated e = evaluate(ctx, {}, stored_otherwise(s, axes, reversed));
      EXPECT_NEAR(e.cost, usual.cost, 2e-5);
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < e.force.size(); ++i) {
        error += std::pow(e.force[i] - usual.force[i], 2);
        norm += std::pow(usual.force[i], 2);
      }
      EXPECT_LT(std::sqrt(error / norm), 0.02);
    }
}

TEST_P(MindMeasure, FollowsTheMapThroughQuarterTurns) {
  const Scene s, turned = stored_otherwise(s, {1, 2, 0}, {true, false, false});
  const Volume<float> f(ctx, turned.fixed, turned.f), m(ctx, turned.moving, turned.m);
  const DisplacementField u(ctx, s.fixed, s.planes);
  DisplacementField force(ctx, s.fixed);
  Mind mind;
  mind.read_ranges(ctx, f, m);
  PointMap other;
  std::swap(other.m[0], other.m[2]);
  mind.prepare(ctx, {f, m, other});
  Buffer<double> cost(ctx, 1);
  mind.evaluate(ctx, u.view(), force.view(), cost.data());
  mind.set_map(turned.map);
  mind.evaluate(ctx, u.view(), force.view(), cost.data());
  const Evaluated expected = evaluate(ctx, {}, turned);
  EXPECT_EQ(cost.to_host(ctx)[0], expected.cost);
  EXPECT_EQ(force.to_host(ctx), expected.force);
}

TEST_P(MindMeasure, PartialAndNoOverlap) {
  Scene s;
  s.carry(13);
  expect_oracle({}, s);
  s.carry(1000);
  const Evaluated e = evaluate(ctx, {}, s);
  EXPECT_TRUE(std::isnan(e.cost));
  for (float v : e.force) ASSERT_EQ(v, 0.0f);
}

TEST_P(MindMeasure, ConstantImagesExertNoForce) {
  Scene s;
  std::fill(s.f.begin(), s.f.end(), 3.0f);
  const Volume<float> f(ctx, s.fixed, s.f), m(ctx, s.moving, s.m),
      flat(ctx, s.moving, std::vector<float>(s.m.size(), 2.0f));
  Mind mind;
  EXPECT_THROW(mind.read_ranges(ctx, f, m), RegistrationError);
  mind.set_ranges({0, 1}, {0, 1});  // a level may be constant where the whole image is not
  mind.prepare(ctx, {f, flat, s.map});
  DisplacementField force(ctx, s.fixed);
  Buffer<double> cost(ctx, 1);
  mind.evaluate(ctx, {nullptr, s.fixed.extent}, force.view(), cost.data());
  EXPECT_NEAR(cost.to_host(ctx)[0], 0, 1e-10);
  for (float v : force.to_host(ctx)) ASSERT_NEAR(v, 0, 1e-8);
}

TEST_P(MindMeasure, GivesTheSameBitsAsTheCpuForAnyThreads) {
  Context one({}, 1), three({}, 3);
  for (const Extent& n :
       {Extent{21, 19, 11}, Extent{61, 47, 33}, Extent{270, 70, 5}, Extent{5, 140, 70}}) {
    Scene s(n, {n.x + 4, n.y, n.z + 3});
    spoil(s.f);
    for (const MindOptions& options : {MindOptions{1, 2}, MindOptions{2, 3}, MindOptions{16, 1}}) {
      const Evaluated expected = evaluate(one, options, s), here = evaluate(ctx, options, s),
                      many = evaluate(three, options, s);
      EXPECT_EQ(here.cost, expected.cost);
      EXPECT_EQ(here.force, expected.force);
      EXPECT_EQ(many.cost, expected.cost);
      EXPECT_EQ(many.force, expected.force);
      expect_near(records_of(ctx, s.fixed, s.f, options), records_of(one, s.fixed, s.f, options),
                  0);
    }
  }
}

TEST(MindOptions, AreChecked) {
  EXPECT_THROW(Mind({0, 2}), InvalidArgument);
  EXPECT_THROW(Mind({17, 2}), InvalidArgument);
  EXPECT_THROW(Mind({1, 0}), InvalidArgument);
  EXPECT_THROW(Mind({1, 17}), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
