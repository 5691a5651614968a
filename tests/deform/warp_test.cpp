// warp.h against double-precision interpolation and closed forms, on every device.
#include <freeflow/deform/warp.h>

#include <sys/mman.h>

#include <memory>
#include <utility>

#include <freeflow/core/memory.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/sampling_body.h>

#include "reference/trilinear.h"
#include "support/devices.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Warp : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Warp);

TEST_P(Warp, LinearMatchesTheOracle) {
  const Geometry g = plain_geometry({31, 23, 17});
  const std::vector<float> voxels = random_values(g.extent.count(), 7);
  const std::vector<float> planes =
      field_planes(g.extent, [](int x, int y, int z) { return wave(x, y, z, 3.7); });
  const Volume<float> moving(ctx, g, voxels);
  const DisplacementField u(ctx, g, planes);
  const std::vector<float> warped =
      warp(ctx, moving, g, Eigen::Affine3d::Identity(), &u, Interpolation::linear, -5).to_host(ctx);
  std::size_t i = 0, outside = 0;
  for (int z = 0; z < g.extent.z; ++z)
    for (int y = 0; y < g.extent.y; ++y)
      for (int x = 0; x < g.extent.x; ++x, ++i) {
        const Eigen::Vector3d p(x + planes[i], y + planes[i + g.extent.count()],
                                z + planes[i + 2 * g.extent.count()]);
        const double expected = reference::trilinear({g.extent, voxels}, p);
        outside += std::isnan(expected);
        ASSERT_NEAR(warped[i], std::isnan(expected) ? -5 : expected, 2e-5)
            << x << ' ' << y << ' ' << z;  // position in float: 31 * 6e-8 * slope
      }
  EXPECT_GT(outside, 100u);
}

TEST_P(Warp, IdentityKeepsTheImageToTheLastVoxel) {
  const Geometry g = oblique_geometry({13, 7, 5});
  const std::vector<float> voxels = random_values(g.extent.count(), 8);
  const Volume<float> image(ctx, g, voxels);
  EXPECT_EQ(warp(ctx, image, g, Eigen::Affine3d::Identity(), nullptr, Interpolation::nearest, 0)
                .to_host(ctx),
            voxels);
  const std::vector<float> linear =
      warp(ctx, image, g, Eigen::Affine3d::Identity(), nullptr, Interpolation::linear, 0)
          .to_host(ctx);
  for (std::size_t i = 0; i < linear.size(); ++i) ASSERT_NEAR(linear[i], voxels[i], float_rounding);
}

/// So many floats, of which the host gives only pages that are touched; on a GPU all of them.
/// Empty where that is more than there is.
Buffer<float> mostly_untouched(Context& ctx, std::size_t count) {
  const std::size_t bytes = count * sizeof(float);
  if (ctx.device().is_cuda())
    return free_bytes(ctx) > bytes + bytes / 8 ? Buffer<float>(ctx, count) : Buffer<float>();
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return {};
  const std::shared_ptr<void> keeper(pages, [=](void* p) { munmap(p, bytes); });
  return Buffer<float>::lent(ctx, static_cast<float*>(pages), count, keeper);
}

/// The last voxels of a volume of which next to nothing else is ever touched.
TEST_P(Warp, SamplesBeyondVoxelTwoToThe32) {
  const Extent n{1630, 1630, 1630}, block{4, 4, 4};
  ASSERT_GT(n.count(), std::size_t(1) << 32);
  const std::vector<float> voxels = random_values(block.count(), 9);
  Buffer<float> memory = mostly_untouched(ctx, n.count());
  if (memory.size() == 0) GTEST_SKIP() << "too little memory on " << ctx.device().name();
  Volume<float> moving(plain_geometry(n), std::move(memory));
  const int first = n.x - block.x;
  for (int z = 0; z < block.z; ++z)
    for (int y = 0; y < block.y; ++y)
      ctx.copy_to_device(&moving.view()(first, first + y, first + z),
                         &voxels[block.offset(0, y, z)], block.x * sizeof(float));
  Geometry corner = moving.geometry();
  corner.extent = block;
  const Eigen::Vector3d shift(0.25, 0.25, 0.25);  // the last voxels lie at the grid's border
  corner.origin = corner.index_to_world() * (Eigen::Vector3d::Constant(first) + shift);
  const auto expected = [&](int x, int y, int z) {
    return reference::trilinear({block, voxels}, Eigen::Vector3d(x, y, z) + shift);
  };
  const auto warped = [&](Interpolation by) {
    return warp(ctx, moving, corner, Eigen::Affine3d::Identity(), nullptr, by, -5).to_host(ctx);
  };
  EXPECT_EQ(warped(Interpolation::nearest), voxels);
  const std::vector<float> linear = warped(Interpolation::linear);
  std::size_t i = 0;
  for (int z = 0; z < block.z; ++z)
    for (int y = 0; y < block.y; ++y)
      for (int x = 0; x < block.x; ++x, ++i) {
        ASSERT_NEAR(linear[i], expected(x, y, z), 1e-3) << x << y << z;  // positions are floats
        if (ctx.device().is_cuda()) continue;
        // Where rows are not taken together.
        const Vec3f p{first + x + 0.25f, first + y + 0.25f, first + z + 0.25f};
        EXPECT_FLOAT_EQ(sample_linear(moving.view(), p), linear[i]);
        EXPECT_FLOAT_EQ(sample_linear_with_gradient(moving.view(), p).value, linear[i]);
        EXPECT_FLOAT_EQ(sample_linear_clamped(moving.view(), p), linear[i]);
      }
}

/// The same of a field's last plane.
TEST_P(Warp, SamplesFieldsBeyondVoxelTwoToThe32) {
  const Extent n{1630, 1630, 1630}, block{4, 4, 4};
  const std::vector<float> values = random_values(block.count(), 10);
  Buffer<float> memory = mostly_untouched(ctx, 3 * n.count());
  if (memory.size() == 0) GTEST_SKIP() << "too little memory on " << ctx.device().name();
  DisplacementField u(plain_geometry(n), std::move(memory));
  const int first = n.x - block.x;
  for (int z = 0; z < block.z; ++z)
    for (int y = 0; y < block.y; ++y)
      ctx.copy_to_device(&u.view().plane(2)(first, first + y, first + z),
                         &values[block.offset(0, y, z)], block.x * sizeof(float));
  Geometry corner = u.geometry();
  corner.extent = block;
  corner.origin = corner.index_to_world() * Eigen::Vector3d::Constant(first);
  const std::vector<float> found = resample(ctx, u, corner).to_host(ctx);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(found[i + 2 * values.size()], values[i], 1e-3) << i;
}

TEST_P(Warp, AGridOfOneSliceIsOrdinary) {
  const Geometry g = plain_geometry({13, 7, 1});
  const std::vector<float> voxels = random_values(g.extent.count(), 8);
  const Volume<float> image(ctx, g, voxels);
  const std::vector<float> out =
      warp(ctx, image, g, Eigen::Affine3d::Identity(), nullptr, Interpolation::linear, 0)
          .to_host(ctx);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], voxels[i], float_rounding);
}

TEST_P(Warp, TheSplineGoesThroughTheVoxelsOfThinImagesToo) {
  for (const Extent n : {Extent{17, 9, 5}, Extent{4, 3, 2}, Extent{2, 1, 6}}) {
    const Geometry g = plain_geometry(n);
    const std::vector<float> voxels = random_values(n.count(), 8);
    const Volume<float> image(ctx, g, voxels);
    const std::vector<float> out =
        warp(ctx, image, g, Eigen::Affine3d::Identity(), nullptr, Interpolation::cubic, 0)
            .to_host(ctx);
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], voxels[i], float_rounding) << n.z;
  }
}

TEST_P(Warp, DifferentObliqueGridsAgreeInTheWorld) {
  const Geometry fixed = oblique_geometry({15, 13, 11}, {1, 1.5, 2});
  Geometry moving = plain_geometry({90, 90, 90}, 1.1);
  moving.origin = {-70, -30, -30};
  const auto plane = [](const Eigen::Vector3d& p) {
    return 0.3 * p.x() - 0.2 * p.y() + 0.5 * p.z() + 4;
  };
  const Volume<float> image = sample_world(ctx, moving, plane);
  Eigen::Affine3d world = Eigen::Affine3d::Identity();
  world.linear() = Eigen::AngleAxisd(0.2, Eigen::Vector3d(1, 2, 3).normalized()).toRotationMatrix();
  world.translation() = Eigen::Vector3d(2, -1, 3);
  for (const Interpolation how : {Interpolation::linear, Interpolation::cubic}) {
    const std::vector<float> out = warp(ctx, image, fixed, world, nullptr, how, NAN).to_host(ctx);
    const std::vector<float> expected = sample_world(cpu, fixed, [&](const Eigen::Vector3d& p) {
                                          return plane(world * p);
                                        }).to_host(cpu);
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], expected[i], 2e-4);  // floats of up to 50 with positions of up to 90
  }
}

TEST_P(Warp, CubicReproducesQuadraticsAwayFromTheBorder) {
  const Geometry g = plain_geometry({40, 38, 36});
  const auto quadratic = [](double x, double y, double z) {
    return 0.01 * x * x - 0.02 * y * z + 0.3 * z + 1;
  };
  const Volume<float> image(ctx, g, voxelwise(g.extent, quadratic));
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation() = Eigen::Vector3d(0.3, -0.4, 0.25);
  const std::vector<float> out =
      warp(ctx, image, g, shift, nullptr, Interpolation::cubic, 0).to_host(ctx);
  for (int z = 14; z < 22; ++z)
    for (int y = 14; y < 22; ++y)
      for (int x = 14; x < 22; ++x)
        ASSERT_NEAR(out[(z * 38 + y) * 40 + x], quadratic(x + 0.3, y - 0.4, z + 0.25), 1e-4);
}

TEST_P(Warp, HolesStayAsLargeAsTheyAre) {
  const Geometry g = oblique_geometry({9, 10, 11}, {0.7, 1.1, 1.9});
  std::vector<float> voxels = random_values(g.extent.count(), 3);
  for (const std::size_t i : {0u, 200u, 201u, 210u, 455u, 989u}) voxels[i] = NAN;
  voxels[700] = INFINITY, voxels[701] = -INFINITY;
  const Volume<float> image(ctx, g, voxels);
  // On its own grid, where rounding leaves every position a little beside its voxel; and less than
  // half a voxel away, where the nearest voxel still is the voxel.
  for (const double shift : {0.0, 0.4})
    for (const auto how : {Interpolation::nearest, Interpolation::linear, Interpolation::cubic}) {
      Eigen::Affine3d world = Eigen::Affine3d::Identity();
      world.translation() = g.direction * (shift * g.spacing);
      const std::vector<float> out = warp(ctx, image, g, world, nullptr, how, 77).to_host(ctx);
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i] == 77, !std::isfinite(voxels[i])) << i << ' ' << shift << ' ' << int(how);
        if (shift == 0 && std::isfinite(voxels[i])) {
          ASSERT_NEAR(out[i], voxels[i], 2e-5);
        }
      }
    }
}

TEST_P(Warp, BesideAHoleTheOthersOfTheCellCount) {
  const Geometry g = plain_geometry({9, 9, 9});
  const auto ramp = [](int x, int y, int) { return 10.0f * x + 3.0f * y; };
  std::vector<float> voxels;
  for (int z = 0; z < 9; ++z)
    for (int y = 0; y < 9; ++y)
      for (int x = 0; x < 9; ++x) voxels.push_back(ramp(x, y, z));
  voxels[g.extent.offset(4, 4, 4)] = NAN;
  const Volume<float> image(ctx, g, voxels);
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation() = Eigen::Vector3d(0.25, 0.125, 0);
  const std::vector<float> out =
      warp(ctx, image, g, shift, nullptr, Interpolation::linear, -1).to_host(ctx);
  const auto at = [&](int x, int y) { return out[g.extent.offset(x, y, 4)]; };
  EXPECT_EQ(at(4, 4), -1);
  EXPECT_FLOAT_EQ(at(3, 4), (0.75f * 0.875f * ramp(3, 4, 4) + 0.75f * 0.125f * ramp(3, 5, 4) +
                             0.25f * 0.125f * ramp(4, 5, 4)) /
                                (1 - 0.25f * 0.875f));
  EXPECT_FLOAT_EQ(at(2, 4), ramp(2, 4, 4) + 2.5f + 0.375f) << "a cell without a hole";
}

TEST_P(Warp, RowsAreSampledAsVoxelsAreOneByOne) {
  // Longer than a piece of a row that the CPU samples at once.
  const Geometry g = plain_geometry({301, 7, 5});
  std::vector<float> voxels = random_values(g.extent.count(), 11);
  for (std::size_t i = 0; i < voxels.size(); i += 37) voxels[i] = i % 2 ? NAN : INFINITY;
  const std::vector<float> planes =
      field_planes(g.extent, [](int x, int y, int z) { return wave(x, y, z, 2); });
  const DisplacementField u(ctx, g, planes);
  const std::vector<float> out = warp(ctx, Volume<float>(ctx, g, voxels), g,
                                      Eigen::Affine3d::Identity(), &u, Interpolation::linear, -1)
                                     .to_host(ctx);
  const VolumeView<const float> image{voxels.data(), g.extent};
  const std::size_t n = g.extent.count();
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3f p{float(i % 301) + planes[i], float(i / 301 % 7) + planes[i + n],
                  float(i / 301 / 7) + planes[i + 2 * n]};
    float expected = sample_linear(image, p);
    if (!is_finite(expected)) expected = sample_linear_beside_holes(image, p);
    ASSERT_EQ(out[i], std::isnan(expected) ? -1 : expected) << i;
  }
}

TEST_P(Warp, ACubicDoesNotDipBesideHoles) {
  // All but a box is missing, as around a masked brain: 0 there would pull the edge half way down.
  const Geometry g = plain_geometry({24, 22, 20});
  std::vector<float> voxels(g.extent.count(), NAN);
  for (int z = 6; z < 14; ++z)
    for (int y = 5; y < 15; ++y)
      for (int x = 4; x < 16; ++x) voxels[g.extent.offset(x, y, z)] = x == 9 ? INFINITY : 1000.0f;
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation() = Eigen::Vector3d(0.45, -0.45, 0.4);
  const std::vector<float> out =
      warp(ctx, Volume<float>(ctx, g, voxels), g, shift, nullptr, Interpolation::cubic, 0)
          .to_host(ctx);
  std::size_t inside = 0;
  for (const float v : out) {
    if (v == 0) continue;
    ASSERT_NEAR(v, 1000, 0.01);
    ++inside;
  }
  EXPECT_EQ(inside, 8u * 10 * 11);
}

TEST_P(Warp, GradientIsTheDerivativeOfTheWarpedImage) {
  const Geometry fixed = oblique_geometry({12, 11, 10}, {1, 1.5, 2}),
                 moving = oblique_geometry({14, 15, 13}, {0.9, 1.2, 1.7});
  const std::vector<float> voxels = random_values(moving.extent.count(), 9);
  std::vector<float> planes =
      field_planes(fixed.extent, [](int x, int y, int z) { return wave(x, y, z, 0.8); });
  const Volume<float> image(ctx, moving, voxels);
  Volume<float> warped(ctx, fixed);
  DisplacementField gradient(ctx, fixed);
  const PointMap map = index_map(fixed, Eigen::Affine3d::Identity(), moving);
  warp_with_gradient(ctx, image.view(), map, DisplacementField(ctx, fixed, planes).view(),
                     warped.view(), gradient.view());
  const std::vector<float> w = warped.to_host(ctx), g = gradient.to_host(ctx);
  const std::size_t n = fixed.extent.count();
  const auto value = [&](std::size_t i, const Eigen::Vector3d& u) {
    const std::size_t x = i % 12, y = i / 12 % 11, z = i / 132;
    const Eigen::Vector3d q = u + Eigen::Vector3d(double(x), double(y), double(z));
    Eigen::Vector3d p;
    for (int r = 0; r < 3; ++r)
      p[r] = map.m[r][0] * q.x() + map.m[r][1] * q.y() + map.m[r][2] * q.z() + map.m[r][3];
    return reference::trilinear({moving.extent, voxels}, p);
  };
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < n; i += 3)
    for (int c = 0; c < 3; ++c) {
      const Eigen::Vector3d u(planes[i], planes[i + n], planes[i + 2 * n]),
          h = 1e-5 * Eigen::Vector3d::Unit(c);
      const double difference = (value(i, u + h) - value(i, u - h)) / 2e-5;
      if (std::isnan(difference) || std::isnan(w[i])) continue;
      error += std::pow(difference - g[i + c * n], 2);
      norm += difference * difference;
    }
  EXPECT_LT(std::sqrt(error / norm), gradient_relative);
}

TEST_P(Warp, ThroughAnInverseFieldUndoesTheShift) {
  const Geometry grid = oblique_geometry({21, 20, 19}, {1, 1, 1.5});
  const Volume<float> image =
      sample_world(ctx, grid, [](const Eigen::Vector3d& p) { return texture(p); });
  // phi(x) = x + t, then an affine; its inverse: the affine's inverse, then -t.
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  affine.translation() = Eigen::Vector3d(3, -2, 1);
  const DisplacementField v(ctx, grid, field_planes(grid.extent, [](int, int, int) {
                              return Eigen::Vector3d(-1.25, 0.5, 0.75);
                            }));
  const std::vector<float> out =
      warp_through(ctx, image, grid, affine.inverse(), v, Interpolation::linear, NAN).to_host(ctx);
  const Eigen::Affine3d to_index = grid.world_to_index();
  const std::vector<float> voxels = image.to_host(ctx);
  std::size_t i = 0, compared = 0;
  for (int z = 0; z < 19; ++z)
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 21; ++x, ++i) {
        const Eigen::Vector3d p =
            to_index * (affine.inverse() * (grid.index_to_world() * Eigen::Vector3d(x, y, z)));
        const double expected =
            reference::trilinear({grid.extent, voxels}, p + Eigen::Vector3d(-1.25, 0.5, 0.75));
        ASSERT_EQ(std::isnan(expected), std::isnan(out[i]));
        if (std::isnan(expected)) continue;
        ASSERT_NEAR(out[i], expected, 2e-5);
        ++compared;
      }
  EXPECT_GT(compared, 3000u);
}

TEST_P(Warp, GivesTheSameBitsAsTheCpu) {
  const Geometry g = oblique_geometry({61, 47, 33});
  std::vector<float> voxels = random_values(g.extent.count(), 7);
  for (std::size_t i = 0; i < voxels.size(); i += 29) voxels[i] = i % 2 ? NAN : INFINITY;
  const std::vector<float> planes =
      field_planes(g.extent, [](int x, int y, int z) { return wave(x, y, z, 5); });
  const auto run = [&](Context& c, Interpolation how) {
    const DisplacementField u(c, g, planes);
    return warp(c, Volume<float>(c, g, voxels), g, Eigen::Affine3d::Identity(), &u, how, -1)
        .to_host(c);
  };
  for (const Interpolation how :
       {Interpolation::nearest, Interpolation::linear, Interpolation::cubic})
    EXPECT_EQ(run(ctx, how), run(cpu, how));
}

}  // namespace
}  // namespace freeflow
