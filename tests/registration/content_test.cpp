// The fixed image's content, on which nonrigid models work, on every device.
#include <freeflow/registration/levels/content_box.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <freeflow/regularize/gaussian.h>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class Content : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Content);

TEST_P(Content, BoxIsThatOfWhatIsNotBackground) {
  const Geometry g = oblique_geometry({13, 11, 9});
  const auto box_of = [&](const std::vector<float>& v) {
    return content_box(ctx, Volume<float>(ctx, g, v));
  };
  std::vector<float> v(g.extent.count(), -3);
  EXPECT_TRUE(box_of(v).empty());
  v[g.extent.offset(5, 0, 7)] = 2;
  v[g.extent.offset(4, 10, 7)] = nan;  // outside a mask
  VoxelBox box = box_of(v);
  EXPECT_EQ(box.begin, (std::array{5, 0, 7}));
  EXPECT_EQ(box.end, (std::array{6, 1, 8}));
  v[g.extent.offset(3, 2, 8)] = -2.99f;
  box = box_of(v);
  EXPECT_EQ(box.begin, (std::array{3, 0, 7}));
  EXPECT_EQ(box.end, (std::array{6, 3, 9}));
  EXPECT_EQ(box.with_margin(2, g.extent).begin, (std::array{1, 0, 5}));
  EXPECT_EQ(box.with_margin(2, g.extent).end, (std::array{8, 5, 9}));
  EXPECT_EQ(box.with_sides_of(4, g.extent).begin, (std::array{3, 0, 6})) << "3, 3, 2 voxels long";
  EXPECT_EQ(box.with_sides_of(4, g.extent).end, (std::array{7, 4, 9}));
  EXPECT_EQ(box.with_sides_of(1, g.extent).extent(), box.extent());
  v[g.extent.offset(12, 10, 0)] = nan;
  v[0] = nan;  // masked there, so that the background counts where it is not
  box = box_of(v);
  EXPECT_EQ(box.extent(), g.extent);
}

TEST_P(Content, OfAMaskOnlyWhatIsAboveAHalfCounts) {
  const Geometry g = oblique_geometry({24, 20, 22});
  const std::vector<float> image = random_values(g.extent.count(), 5);
  const auto levels = [&](float inside, float outside) {
    std::vector<float> mask(image.size());
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 24 < 11 ? inside : outside;
    PreparedImage prepared(Volume<float>(ctx, g, image), Volume<float>(ctx, g, mask));
    std::vector<float> values = prepared.level(ctx, {}).to_host(ctx);
    for (const auto& steps :
         {std::vector{Factors{2, 2, 2}}, std::vector{Factors{2, 2, 2}, Factors{2, 1, 2}}}) {
      const std::vector<float> level = prepared.level(ctx, steps).to_host(ctx);
      values.insert(values.end(), level.begin(), level.end());
    }
    return values;
  };
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
  };
  const std::vector<float> plain = levels(1, 0);
  EXPECT_TRUE(same(levels(255, 0), plain));
  EXPECT_TRUE(same(levels(1, nan), plain));
  EXPECT_TRUE(same(levels(0.6f, 0.4f), plain)) << "probabilities";
  EXPECT_TRUE(same(levels(1, 0.5f), plain)) << "a half is not above it";
  EXPECT_TRUE(same(levels(17, -3), plain));
}

/// A discrete start merges three voxels, or five: its levels are no powers of two.
TEST_P(Content, AMaskedLevelOfAnyFactorsLiesOnItsGrid) {
  const Geometry stored = oblique_geometry({61, 53, 59}),
                 g = ordered(stored, canonical_order(stored));
  constexpr int end = 40;  // of the mask along x
  const auto slope = [](const Eigen::Vector3d& p) { return 2 * p.x() - p.y() + 0.5 * p.z(); };
  std::vector<float> mask(g.extent.count());
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = int(i % std::size_t(g.extent.x)) < end;
  PreparedImage prepared(sample_world(ctx, g, slope), Volume<float>(ctx, g, mask));
  for (const Factors f : {Factors{3, 5, 6}, {5, 3, 3}, {6, 1, 7}, {2, 3, 4}}) {
    const Volume<float>& level = prepared.level(ctx, {f});
    const Geometry expected = decimated(g, f);
    ASSERT_TRUE(same_grid(level.geometry(), expected)) << f[0] << f[1] << f[2];
    const Eigen::Affine3d to_world = expected.index_to_world();
    const std::vector<float> values = level.to_host(ctx);
    const Extent n = expected.extent;
    int seen = 0;
    for (int z = 2; z < n.z - 2; ++z)
      for (int y = 2; y < n.y - 2; ++y)
        for (int x = 2; x < n.x; ++x) {
          const float value = values[n.offset(x, y, z)];
          if (x * f[0] >= end) {
            ASSERT_TRUE(std::isnan(value)) << x << ' ' << y << ' ' << z;
          }
          if ((x + 3) * f[0] > end) continue;
          ASSERT_NEAR(value, slope(to_world * Eigen::Vector3d(x, y, z)), 1e-3);
          ++seen;
        }
    EXPECT_GT(seen, 50);
  }
}

TEST_P(Content, ACropKeepsItsPlaceInTheWorld) {
  const Geometry g = oblique_geometry({13, 11, 9});
  const Volume<float> image(ctx, g, random_values(g.extent.count(), 5));
  const VoxelBox box{{2, 0, 3}, {9, 11, 5}};
  const Volume<float> part = crop(ctx, image, box);
  ASSERT_EQ(part.extent(), (Extent{7, 11, 2}));
  const Eigen::Vector3d there = g.index_to_world() * Eigen::Vector3d(2 + 4, 5, 3 + 1),
                        here = part.geometry().index_to_world() * Eigen::Vector3d(4, 5, 1);
  EXPECT_LT((there - here).norm(), 1e-9);
  EXPECT_EQ(part.to_host(ctx)[part.extent().offset(4, 5, 1)],
            image.to_host(ctx)[g.extent.offset(6, 5, 4)]);
  EXPECT_TRUE(crop(ctx, Volume<float>(), box).empty());
}

TEST_P(Content, OfSeveralChannelsIsWhatAnyOfThemShows) {
  const Geometry g = oblique_geometry({80, 72, 64});
  const auto with_one_at = [&](int x, int y, int z) {
    std::vector<float> v(g.extent.count(), 0);
    v[g.extent.offset(x, y, z)] = 1;
    return Volume<float>(ctx, g, v);
  };
  // In canonical order voxel (x, y, z) of these is (79 - x, 71 - y, z).
  std::vector<Volume<float>> channels;
  channels.push_back(with_one_at(40, 36, 32));
  channels.push_back(with_one_at(20, 50, 32));
  PreparedImage image(std::move(channels), Volume<float>());
  PreparedImage& content = image.content(ctx);
  ASSERT_NE(&content, &image);
  ASSERT_EQ(content.channels(), 2u);
  EXPECT_EQ(content.geometry().extent, (Extent{21 + 16 + 3, 15 + 16 + 1, 1 + 16 + 3}));
  for (std::size_t c = 0; c < 2; ++c) {
    const std::vector<float> voxels = content.channel(c).level(ctx, {}).to_host(ctx);
    EXPECT_EQ(std::ranges::count(voxels, 1.0f), 1) << c;
  }
}

/// The fixed image of a phantom in the midst of so many voxels of its background.
struct InALargerGrid {
  Geometry grid;
  std::vector<float> image, mask;
  std::array<int, 3> at;

  InALargerGrid(const Geometry& g, const std::vector<float>& voxels, std::array<int, 3> before,
                std::array<int, 3> after, float background)
      : grid(g), at(before) {
    grid.extent.x += before[0] + after[0];
    grid.extent.y += before[1] + after[1];
    grid.extent.z += before[2] + after[2];
    grid.origin = g.index_to_world() * -Eigen::Vector3d(before[0], before[1], before[2]);
    image.assign(grid.extent.count(), background);
    mask.assign(grid.extent.count(), 0);
    for (int z = 0; z < g.extent.z; ++z)
      for (int y = 0; y < g.extent.y; ++y)
        for (int x = 0; x < g.extent.x; ++x) {
          const std::size_t i = grid.extent.offset(x + at[0], y + at[1], z + at[2]);
          image[i] = voxels[g.extent.offset(x, y, z)];
          mask[i] = 1;
        }
  }
};

template <class Options>
NonrigidModel quick_model(const std::vector<int>& iterations = {20, 4}) {
  Options o;
  o.levels = 2;
  o.iterations = iterations;
  o.similarity.kind = SimilarityKind::ssd;  // which takes the least time
  o.with_inverse = true;
  return o;
}

TEST_P(Content, ALargerGridChangesNothingWithin) {
  constexpr int margin = 8;  // all that a content keeps, with sides of multiples of four
  Phantom p = in_order(Phantom(centred(oblique_geometry({56, 52, 48}, {1.2, 1.2, 1.5})),
                               usual_phantom(false).moving, false),
                       false);
  const Extent n = p.fixed.extent;
  const float background = 0.25f;
  p.f = voxelwise(n, [&](int x, int y, int z) {
    const bool rim = std::min({x, y, z, n.x - 1 - x, n.y - 1 - y, n.z - 1 - z}) < margin;
    return rim ? background : p.f[n.offset(x, y, z)];
  });
  const InALargerGrid large(p.fixed, p.f, {9, 3, 17}, {2, 14, 0}, background);
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m),
      f_large(ctx, large.grid, large.image);
  for (const NonrigidModel& model :
       {quick_model<FlowOptions>(), quick_model<FfdOptions>(), quick_model<FluidOptions>()}) {
    SCOPED_TRACE(model.index());
    const RegistrationOptions o{model, std::nullopt, StartKind::none};
    const RegistrationResult small = register_images(ctx, f, m, o),
                             r = register_images(ctx, f_large, m, o);
    ASSERT_EQ(r.displacement.extent(), large.grid.extent);
    ASSERT_EQ(r.inverse->field.extent(), large.grid.extent);
    ASSERT_EQ(r.levels.back().grid, n) << "it worked on the content";
    EXPECT_EQ(r.jacobian.folded_voxels, 0u);
    const std::vector<float> u = small.displacement.to_host(ctx), v = r.displacement.to_host(ctx);
    double most = 0;
    const Extent wide = large.grid.extent;
    for (int z = 0; z < wide.z; ++z)
      for (int y = 0; y < wide.y; ++y)
        for (int x = 0; x < wide.x; ++x)
          for (std::size_t c = 0; c < 3; ++c) {
            // Beyond the content it goes on with the values of its border.
            const std::size_t i = n.offset(std::clamp(x - large.at[0], 0, n.x - 1),
                                           std::clamp(y - large.at[1], 0, n.y - 1),
                                           std::clamp(z - large.at[2], 0, n.z - 1));
            most = std::max(most, std::abs(double(v[c * wide.count() + wide.offset(x, y, z)]) -
                                           u[c * n.count() + i]));
          }
    EXPECT_LT(most, 1e-4) << "voxels";
    EXPECT_LT(r.inverse->residual.mean_voxels, 0.02);
  }
}

TEST_P(Content, AMaskBoundsTheWork) {
  const Phantom p = in_order(usual_phantom(false), false);
  const InALargerGrid large(p.fixed, p.f, {40, 0, 6}, {11, 50, 9}, 1);
  std::vector<float> noise = random_values(large.grid.extent.count(), 3);
  for (std::size_t i = 0; i < noise.size(); ++i)
    if (large.mask[i] > 0) noise[i] = large.image[i];
  const Volume<float> f(ctx, large.grid, noise), mask(ctx, large.grid, large.mask),
      m(ctx, p.moving, p.m);
  const RegistrationResult r = register_images(
      ctx, f, m, {quick_model<FlowOptions>(), std::nullopt, StartKind::none}, {&mask, nullptr});
  const Extent worked = r.levels.back().grid;
  EXPECT_EQ(worked, (Extent{p.fixed.extent.x + 16, p.fixed.extent.y + 8, p.fixed.extent.z + 15}));
  EXPECT_EQ(r.displacement.extent(), large.grid.extent);
  EXPECT_GT(r.overlap_after, 0.9);
}

TEST_P(Content, WhatNeedsTheWholeGridHasIt) {
  const Phantom p = in_order(usual_phantom(false), false);
  const InALargerGrid large(p.fixed, p.f, {20, 20, 20}, {20, 20, 20}, 0);
  PreparedImage image(Volume<float>(ctx, large.grid, large.image));
  EXPECT_NE(&image.content(ctx), &image);
  EXPECT_EQ(&image.content(ctx), &image.content(ctx)) << "made once";
  EXPECT_EQ(&image.content(ctx).content(ctx), &image.content(ctx));
  EXPECT_EQ(image.content(ctx).stored().extent, large.grid.extent);
  PreparedImage tight(Volume<float>(ctx, p.fixed, random_values(p.fixed.extent.count(), 2)));
  EXPECT_EQ(&tight.content(ctx), &tight);
  PreparedImage constant(
      Volume<float>(ctx, large.grid, std::vector<float>(large.grid.extent.count(), 7)));
  EXPECT_EQ(&constant.content(ctx), &constant);

  const Volume<float> f(ctx, large.grid, large.image), m(ctx, p.moving, p.m);
  const auto worked_on = [&](const auto& model) {
    return register_images(ctx, f, m, {model, std::nullopt, StartKind::none}).levels.back().grid;
  };
  FfdOptions ffd = std::get<FfdOptions>(quick_model<FfdOptions>({1, 1}));
  ffd.with_control_points = true;
  EXPECT_EQ(worked_on(ffd), large.grid.extent) << "the spline is a result";
  FlowOptions flow = std::get<FlowOptions>(quick_model<FlowOptions>({1, 1}));
  flow.symmetric = true;
  EXPECT_EQ(worked_on(flow), large.grid.extent) << "the velocity is a result";
  flow.symmetric = false;
  const DisplacementField start(ctx, large.grid, std::vector<float>(3 * large.grid.extent.count()));
  flow.initial_displacement = &start;
  EXPECT_EQ(worked_on(flow), large.grid.extent) << "a start is kept";
  flow.initial_displacement = nullptr;
  flow.symmetric = true;
  flow.initial_velocity = &start;
  EXPECT_EQ(worked_on(flow), large.grid.extent) << "so is a velocity";
  DemonsOptions demons = std::get<DemonsOptions>(quick_model<DemonsOptions>({1, 1}));
  demons.kind = DemonsKind::log;
  EXPECT_EQ(worked_on(demons), large.grid.extent) << "the velocity is a result here, too";
  demons.kind = DemonsKind::esm;
  EXPECT_NE(worked_on(demons), large.grid.extent);

  // A caller's own choice of the content for a velocity: the inverse is one of the whole grid.
  flow.initial_velocity = nullptr;
  flow.with_inverse = true;
  PreparedImage moving(Volume<float>(ctx, p.moving, p.m));
  const RegistrationResult r = register_flow(ctx, image.content(ctx), moving, flow);
  EXPECT_EQ(r.inverse->field.extent(), r.displacement.extent());
  EXPECT_LT(r.inverse->residual.mean_voxels, inverse_mean_voxels);
}

}  // namespace
}  // namespace freeflow
