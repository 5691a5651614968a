// The discrete start on a texture under a large known warp: what it finds, and that devices,
// threads, units and directions agree.
#include <freeflow/registration/search/discrete_start.h>

#include <cmath>
#include <random>

#include <freeflow/deform/field_operations.h>
#include <freeflow/registration/register_images.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

constexpr Extent extent{64, 56, 44};

/// Many short waves: no two places look the same, and a gradient sees a few voxels far.
double short_waves(const Eigen::Vector3d& p) {
  static const std::vector<Eigen::Vector4d> waves = [] {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> frequency(-0.8, 0.8), phase(0, 6.28);
    std::vector<Eigen::Vector4d> result;
    while (result.size() < 24) {
      const Eigen::Vector3d w(frequency(random), frequency(random), frequency(random));
      if (w.norm() > 0.8) result.emplace_back(w.x(), w.y(), w.z(), phase(random));
    }
    return result;
  }();
  double sum = 0;
  for (const Eigen::Vector4d& w : waves) sum += std::sin(w.head<3>().dot(p) + w.w());
  return sum;
}

/// Up to 8 voxels along x, less along the others.
Eigen::Vector3d large_warp(const Eigen::Vector3d& p) {
  return {8 * std::cos(0.04 * p.y()), -5 * std::sin(0.05 * p.x() + 0.5),
          4 * std::cos(0.05 * (p.x() - p.z()))};
}

struct WarpedTexture {
  Geometry grid;
  std::vector<float> f, m;

  explicit WarpedTexture(double spacing = 1.5, double contrast = 1, double offset = 0)
      : grid(oblique_geometry(extent, Eigen::Vector3d::Constant(spacing))) {
    const auto value = [&](const Eigen::Vector3d& p) { return offset + contrast * short_waves(p); };
    f = voxelwise(extent, [&](int x, int y, int z) {
      const Eigen::Vector3d p(x, y, z);
      return value(p + large_warp(p));
    });
    m = voxelwise(extent, [&](int x, int y, int z) {
      return value({double(x), double(y), double(z)});
    });
  }

  /// Mean error in voxels, 10 voxels and more inside the image.
  double error(Context& ctx, const DisplacementField& any) const {
    const DisplacementField u = resample(ctx, any, grid);
    const std::vector<float> planes = u.to_host(ctx);
    const std::size_t n = extent.count();
    double sum = 0, number = 0;
    for (int z = 10; z < extent.z - 10; ++z)
      for (int y = 10; y < extent.y - 10; ++y)
        for (int x = 10; x < extent.x - 10; ++x) {
          const std::size_t i = extent.offset(x, y, z);
          sum += (Eigen::Vector3d(planes[i], planes[i + n], planes[i + 2 * n]) -
                  large_warp({double(x), double(y), double(z)}))
                     .norm();
          number += 1;
        }
    return sum / number;
  }
};

DiscreteStart start_of(Context& ctx, const WarpedTexture& t, const Masks& masks = {},
                       const DiscreteStartOptions& options = {}) {
  return discrete_start(ctx, Volume<float>(ctx, t.grid, t.f), Volume<float>(ctx, t.grid, t.m),
                        Eigen::Affine3d::Identity(), options, masks);
}

class StartSearch : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(StartSearch);

TEST_P(StartSearch, FindsALargeWarpThatAGradientDoesNot) {
  const WarpedTexture t;
  const DiscreteStart start = start_of(ctx, t);
  EXPECT_TRUE(start.record.taken) << start.record.reason;
  EXPECT_LT(start.record.cost_after, 0.6 * start.record.cost_before);
  EXPECT_NEAR(start.record.largest_mm, 1.5 * 9.5, 1.5 * 2);
  EXPECT_LT(t.error(ctx, start.displacement), 1.0) << "voxels, of cells two wide";
  EXPECT_EQ(jacobian_statistics(ctx, start.displacement).folded_voxels, 0u);

  const Volume<float> f(ctx, t.grid, t.f), m(ctx, t.grid, t.m);
  FlowOptions flow;
  flow.iterations = {20, 20, 20, 10};
  RegistrationOptions options{flow, std::nullopt, StartKind::none};
  const RegistrationResult without = register_images(ctx, f, m, options);
  options.start = StartKind::automatic;
  const RegistrationResult with = register_images(ctx, f, m, options);
  EXPECT_GT(t.error(ctx, without.displacement), 2.0);
  EXPECT_LT(t.error(ctx, with.displacement), 0.5);
  EXPECT_FALSE(without.start.has_value());
  ASSERT_TRUE(with.start.has_value());
  EXPECT_TRUE(with.start->taken);
  EXPECT_EQ(with.levels.front().level, 3)
      << "levels that find less than the start has are left out";
}

TEST_P(StartSearch, WhatLiesBeyondTheMovingImageIsNoLargeMotion) {
  const WarpedTexture t;
  const int half = extent.x / 2;
  Geometry cut = t.grid;
  cut.extent.x = half;
  const std::vector<float> part =
      voxelwise(cut.extent, [&](int x, int y, int z) { return t.m[extent.offset(x, y, z)]; });
  // The fixed image does not move where the moving one is, and shows it once more beyond its end.
  const std::vector<float> twice = voxelwise(
      extent, [&](int x, int y, int z) { return t.m[extent.offset(x < half ? x : x - 6, y, z)]; });
  const DiscreteStart start =
      discrete_start(ctx, Volume<float>(ctx, t.grid, twice), Volume<float>(ctx, cut, part),
                     Eigen::Affine3d::Identity());
  EXPECT_GT(start.record.largest_mm, 1.5 * 3) << "it is drawn onto the end";
  EXPECT_LT(start.record.moving_parts_mm, 0.04 * start.record.object_mm);
  EXPECT_FALSE(start.record.taken) << start.record.reason;
}

TEST_P(StartSearch, WhatLiesBeyondTheFixedMaskIsNoLargeMotion) {
  const WarpedTexture t;
  const int half = extent.x / 2;
  // What the moving image has beyond the mask resembles what lies nine voxels within.
  const std::vector<float> more = voxelwise(extent, [&](int x, int y, int z) {
    return t.m[extent.offset(x < half + 3 ? x : x - 9, y, z)];
  });
  const Volume<float> mask(
      ctx, t.grid, voxelwise(extent, [&](int x, int, int) { return x < half ? 1.0 : 0.0; }));
  const DiscreteStart start =
      discrete_start(ctx, Volume<float>(ctx, t.grid, t.m), Volume<float>(ctx, t.grid, more),
                     Eigen::Affine3d::Identity(), {}, {&mask, nullptr});
  EXPECT_LT(start.record.largest_mm, 1.5 * 3) << "it is not drawn into the mask";
  EXPECT_LT(start.record.moving_parts_mm, 0.04 * start.record.object_mm);
  EXPECT_FALSE(start.record.taken) << start.record.reason;
}

TEST_P(StartSearch, BeyondTheMovingImagesEndTheMotionGoesOn) {
  const WarpedTexture t;
  const int end = extent.x * 2 / 3;
  const Volume<float> part(ctx, t.grid,
                           voxelwise(extent, [&](int x, int, int) { return x < end ? 1.0 : 0.0; }));
  const DiscreteStart start = start_of(ctx, t, {nullptr, &part});
  EXPECT_TRUE(start.record.taken) << start.record.reason;
  const std::vector<float> u = resample(ctx, start.displacement, t.grid).to_host(ctx);
  double sum = 0, number = 0;
  for (int z = 10; z < extent.z - 10; ++z)
    for (int y = 10; y < extent.y - 10; ++y)
      for (int x = end + 4; x < extent.x - 4; ++x) {
        const Eigen::Vector3d truth = large_warp({double(x), double(y), double(z)});
        sum += std::abs(u[extent.offset(x, y, z)] - truth.x());
        number += 1;
      }
  EXPECT_LT(sum / number, 4.5) << "voxels along x; 5.4 where all is drawn onto the end";
}

TEST_P(StartSearch, AirAroundTheObjectDoesNotHideItsMotion) {
  const Extent wide{112, 100, 84};
  const Geometry grid = plain_geometry(wide);
  const Eigen::Vector3d middle(56, 50, 42), half(24, 21, 17);
  const auto object = [&](const Eigen::Vector3d& p) {
    return ((p - middle).cwiseAbs().array() < half.array()).all() ? short_waves(p) : -10.0;
  };
  const auto image = [&](double shift) {
    return Volume<float>(ctx, grid, voxelwise(wide, [&](int x, int y, int z) {
                           return object({x + shift, double(y), double(z)});
                         }));
  };
  const StartRecord record =
      discrete_start(ctx, image(7), image(0), Eigen::Affine3d::Identity()).record;
  EXPECT_LT(record.root_mean_square_mm, 0.04 * record.object_mm)
      << "most of the image stands still";
  EXPECT_NEAR(record.moving_parts_mm, 7, 1.5);
  EXPECT_TRUE(record.taken) << record.reason;
}

TEST_P(StartSearch, ASlabIsAPartOfALargerObject) {
  const auto slab = [&](int slices, double shift) {
    const Extent n{64, 56, slices};
    return Volume<float>(ctx, plain_geometry(n), voxelwise(n, [&](int x, int y, int z) {
                           return short_waves({x + shift, double(y), double(z)});
                         }));
  };
  const StartRecord record =
      discrete_start(ctx, slab(12, 2), slab(12, 0), Eigen::Affine3d::Identity()).record;
  EXPECT_NEAR(record.object_mm, std::cbrt(64.0 * 56 * 32), 1e-6);
  EXPECT_FALSE(record.taken) << "5 % of the cube of its volume, 4 % of the object";

  FlowOptions flow;
  flow.iterations = {1};
  const RegistrationResult thin =
      register_images(ctx, slab(7, 4), slab(7, 0), {flow, std::nullopt, StartKind::automatic});
  ASSERT_TRUE(thin.start.has_value());
  EXPECT_FALSE(thin.start->taken);
  EXPECT_NE(thin.start->reason.find("too thin"), std::string::npos) << thin.start->reason;
}

TEST_P(StartSearch, HasTheBitsOfTheCpuWhateverTheThreads) {
  WarpedTexture t;
  for (std::size_t i = 0; i < t.f.size(); i += 997) t.f[i] = NAN;
  const std::vector<float> expected = start_of(ctx, t).displacement.to_host(ctx);
  for (const int threads : {1, 2, 3}) {
    Context other({}, threads);
    EXPECT_EQ(start_of(other, t).displacement.to_host(other), expected) << threads;
  }
}

TEST_P(StartSearch, FollowsNeitherTheUnitOfLengthNorThatOfIntensity) {
  const WarpedTexture t(1.5), larger(1.5 * 8), brighter(1.5, 64, 0);
  const DiscreteStart one = start_of(ctx, t);
  EXPECT_EQ(start_of(ctx, larger).displacement.to_host(ctx), one.displacement.to_host(ctx));
  EXPECT_EQ(start_of(ctx, brighter).displacement.to_host(ctx), one.displacement.to_host(ctx));
  const WarpedTexture ten(15);
  EXPECT_NEAR(t.error(ctx, one.displacement), ten.error(ctx, start_of(ctx, ten).displacement),
              1e-3);
}

TEST_P(StartSearch, BothDirectionsUndoEachOther) {
  const WarpedTexture t;
  const Volume<float> f(ctx, t.grid, t.f), m(ctx, t.grid, t.m);
  const DiscreteStart forth = discrete_start(ctx, f, m, Eigen::Affine3d::Identity()),
                      back = discrete_start(ctx, m, f, Eigen::Affine3d::Identity());
  EXPECT_LT(inverse_residual(ctx, forth.displacement, back.displacement).mean_voxels, 0.05);
}

TEST_P(StartSearch, LeavesAnImageOnItselfAlone) {
  const WarpedTexture t;
  const Volume<float> f(ctx, t.grid, t.f);
  const DiscreteStart start = discrete_start(ctx, f, f, Eigen::Affine3d::Identity());
  EXPECT_EQ(start.record.largest_mm, 0);
  EXPECT_EQ(start.record.cost_after, 0);
  EXPECT_FALSE(start.record.taken);
  EXPECT_EQ(start.record.reason, "the motion is small");
}

TEST(StartRecord, IsTakenWhereTheMotionIsLargeAndTheImagesMatchBetter) {
  const auto judged = [](double moving_parts, double cost_after) {
    StartRecord r;
    r.object_mm = 100;
    r.moving_parts_mm = moving_parts;
    r.cost_before = 0.12;
    r.cost_after = cost_after;
    judge(r);
    return r;
  };
  EXPECT_TRUE(judged(4.6, 0.098).taken);
  EXPECT_EQ(judged(4.4, 0.098).reason, "the motion is small");
  EXPECT_EQ(judged(4.6, 0.1).reason, "the images match little better for it");
  EXPECT_FALSE(judged(4.6, std::nan("")).taken);
  EXPECT_FALSE(judged(4.4, 0).taken);
}

TEST_P(StartSearch, LooksNoFurtherWhereTheCoarseCellsShowSmallMotion) {
  DiscreteStartOptions o;
  o.only_large = true;
  const WarpedTexture t;
  const Volume<float> f(ctx, t.grid, t.f), m(ctx, t.grid, t.m);
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  const DiscreteStart whole = discrete_start(ctx, f, m, identity),
                      large = discrete_start(ctx, f, m, identity, o);
  EXPECT_TRUE(large.record.taken);
  EXPECT_EQ(large.displacement.to_host(ctx), whole.displacement.to_host(ctx));

  Geometry moved = t.grid;  // by a voxel, of 0.02 of the object
  moved.origin += t.grid.direction.col(0) * t.grid.spacing.x();
  const Volume<float> near(ctx, moved, t.m);
  const DiscreteStart found = discrete_start(ctx, near, m, identity),
                      small = discrete_start(ctx, near, m, identity, o);
  EXPECT_FALSE(small.record.taken);
  EXPECT_EQ(small.record.reason, found.record.reason);
  EXPECT_EQ(small.displacement.geometry().extent, found.displacement.geometry().extent);
  EXPECT_NE(small.displacement.to_host(ctx), found.displacement.to_host(ctx));
  EXPECT_NEAR(found.record.moving_parts_mm, 1.5, 0.1);
  EXPECT_NEAR(small.record.moving_parts_mm, 1.5, 0.75) << "coarse cells";
  EXPECT_LT(small.record.cost_after, small.record.cost_before);
  EXPECT_NEAR(small.record.cost_before, found.record.cost_before, 0.01 * found.record.cost_before)
      << "over what both see";
}

TEST_P(StartSearch, IsAStartOfTheFinestLevelWhereItIsAskedForThoughTheMotionIsSmall) {
  const WarpedTexture t;
  const Eigen::Affine3d away(Eigen::Translation3d(30, -20, 45));
  Geometry moved = t.grid;  // by a voxel, of 0.02 of the object; and carried away
  moved.origin += t.grid.direction.col(0) * t.grid.spacing.x();
  const Volume<float> fixed(ctx, moved, t.m);
  moved.origin = away * t.grid.origin;
  const Volume<float> moving(ctx, moved, t.m);
  FlowOptions flow;
  flow.levels = 4;
  flow.iterations = {0};
  flow.initial = away;
  const auto started = [&](StartKind kind) {
    return register_images(ctx, fixed, moving, {flow, std::nullopt, kind});
  };
  const RegistrationResult asked = started(StartKind::discrete);
  ASSERT_TRUE(asked.start.has_value());
  EXPECT_TRUE(asked.start->taken);
  EXPECT_EQ(asked.start->reason, "asked for, though the motion is small");
  ASSERT_EQ(asked.levels.size(), 1u) << "its voxels are those of the finest level";
  EXPECT_EQ(asked.levels[0].level, 3);
  const DiscreteStart found = discrete_start(ctx, fixed, moving, away);
  const std::vector<float> u = asked.displacement.to_host(ctx),
                           expected =
                               resample(ctx, found.displacement, fixed.geometry()).to_host(ctx);
  for (std::size_t i = 0; i < u.size(); ++i) ASSERT_NEAR(u[i], expected[i], 1e-4) << i;
  EXPECT_NEAR(u[extent.offset(32, 28, 22)], -1, 0.2);

  const RegistrationResult automatic = started(StartKind::automatic);
  ASSERT_TRUE(automatic.start.has_value());
  EXPECT_FALSE(automatic.start->taken);
  EXPECT_EQ(automatic.levels.size(), 2u) << "32 x 28 x 22 voxels and the finest";
  for (const float v : automatic.displacement.to_host(ctx)) ASSERT_EQ(v, 0);
}

TEST_P(StartSearch, FollowsTheAffine) {
  WarpedTexture t;
  Geometry away = t.grid;
  const Eigen::Affine3d affine = Eigen::Affine3d(Eigen::Translation3d(30, -20, 45)) *
                                 Eigen::AngleAxisd(0.5, Eigen::Vector3d(1, -1, 2).normalized());
  away.origin = affine * t.grid.origin;
  away.direction = affine.linear() * t.grid.direction;
  const DiscreteStart start =
      discrete_start(ctx, Volume<float>(ctx, t.grid, t.f), Volume<float>(ctx, away, t.m), affine);
  EXPECT_LT(t.error(ctx, start.displacement), 1.0);
}

TEST_P(StartSearch, MaskedVoxelsSayNothing) {
  const WarpedTexture t;
  WarpedTexture spoilt = t;
  std::vector<float> inside(extent.count(), 1.0f);
  for (int z = 0; z < 12; ++z)
    for (int y = 0; y < extent.y; ++y)
      for (int x = 0; x < extent.x; ++x) {
        spoilt.f[extent.offset(x, y, z)] = float(3 * std::sin(0.9 * x) * std::cos(1.1 * y));
        inside[extent.offset(x, y, z)] = 0;
      }
  const Volume<float> mask(ctx, t.grid, inside);
  DiscreteStartOptions merging_three;
  merging_three.voxels = 18;
  for (const DiscreteStartOptions& o : {DiscreteStartOptions(), merging_three}) {
    const std::vector<float> found =
        start_of(ctx, t, {&mask, nullptr}, o).displacement.to_host(ctx);
    EXPECT_EQ(start_of(ctx, spoilt, {&mask, nullptr}, o).displacement.to_host(ctx), found);
  }
}

TEST_P(StartSearch, RefusesWhatItCannotUseWithASentence) {
  const WarpedTexture t;
  const Volume<float> f(ctx, t.grid, t.f), m(ctx, t.grid, t.m);
  DiscreteStartOptions options;
  options.reach = 0.5;
  EXPECT_THROW(discrete_start(ctx, f, m, Eigen::Affine3d::Identity(), options), InvalidArgument);
  options = {};
  options.voxels = 1000;
  EXPECT_THROW(discrete_start(ctx, f, m, Eigen::Affine3d::Identity(), options), InvalidArgument);
  const std::size_t n = extent.count();
  for (const float value : {3.0f, NAN})
    EXPECT_THROW(discrete_start(ctx, f, Volume<float>(ctx, t.grid, std::vector<float>(n, value)),
                                Eigen::Affine3d::Identity()),
                 RegistrationError);
  Eigen::Affine3d far = Eigen::Affine3d::Identity();
  far.translation() = Eigen::Vector3d(1e4, 0, 0);
  const DiscreteStart nothing = discrete_start(ctx, f, m, far);
  EXPECT_EQ(nothing.record.largest_mm, 0) << "no overlap says nothing";
  EXPECT_FALSE(nothing.record.taken);

  DisplacementField u(ctx, t.grid);
  u.fill_zero(ctx);
  FfdOptions given;
  given.initial_displacement = &u;
  EXPECT_THROW(register_images(ctx, f, m, {given, std::nullopt, StartKind::discrete}),
               InvalidArgument);
  FlowOptions symmetric;
  symmetric.symmetric = true;
  EXPECT_THROW(register_images(ctx, f, m, {symmetric, std::nullopt, StartKind::discrete}),
               InvalidArgument);
}

TEST_P(StartSearch, TakesSlicesAndSmallImages) {
  for (const Extent n : {Extent{61, 47, 1}, Extent{9, 61, 13}, Extent{1, 1, 40}}) {
    const Geometry grid = plain_geometry(n);
    const auto shifted = [&](double shift) {
      return voxelwise(n, [&](int x, int y, int z) {
        return short_waves({x + shift, y + shift, double(z)});
      });
    };
    const Volume<float> f(ctx, grid, shifted(2)), m(ctx, grid, shifted(0));
    const DiscreteStart start = discrete_start(ctx, f, m, Eigen::Affine3d::Identity());
    for (const float v : start.displacement.to_host(ctx)) ASSERT_TRUE(std::isfinite(v));
  }
}

TEST_P(StartSearch, ItsMemoryIsPredicted) {
  const WarpedTexture t;
  const Volume<float> f(ctx, t.grid, t.f), m(ctx, t.grid, t.m);
  const RegistrationOptions options{FfdOptions{}, std::nullopt, StartKind::discrete};
  RegistrationOptions none = options;
  none.start = StartKind::none;
  const RegistrationInputs inputs{t.grid, t.grid, false, false, {}};
  const std::size_t predicted = predict_bytes(ctx, inputs, options);
  EXPECT_GT(predicted, predict_bytes(ctx, inputs, none));
  ctx.reset_peak();
  register_images(ctx, f, m, options);
  EXPECT_LE(ctx.statistics().peak_bytes, predicted);
}

}  // namespace
}  // namespace freeflow
