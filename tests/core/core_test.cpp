// core/: geometry, devices, memory, the portable logarithm and the reductions.
#include <gtest/gtest.h>

#include <cmath>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/core/geometry.h>
#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/volume.h>
#include <freeflow/core/world_axes.h>

#include "core/test_bodies.h"
#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

TEST(Geometry, WorldMapsMatchTheDefinition) {
  const Geometry g = oblique_geometry({5, 6, 7});
  const Eigen::Vector3d index(3, 1, 4);
  const Eigen::Vector3d expected =
      g.origin + g.direction * Eigen::Vector3d(3 * 1.2, 1 * 0.9, 4 * 2.5);
  EXPECT_LT((g.index_to_world() * index - expected).norm(), 1e-12);
  EXPECT_LT((g.world_to_index() * expected - index).norm(), 1e-12);
}

TEST(Geometry, IndexMapGoesThroughTheWorld) {
  const Geometry fixed = oblique_geometry({9, 8, 7}), moving = plain_geometry({20, 20, 20}, 1.5);
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation() = Eigen::Vector3d(1, 2, 3);
  const PointMap map = index_map(fixed, shift, moving);
  const Eigen::Vector3d expected =
      moving.world_to_index() *
      (fixed.index_to_world() * Eigen::Vector3d(2, 3, 4) + Eigen::Vector3d(1, 2, 3));
  for (int r = 0; r < 3; ++r)
    EXPECT_NEAR(map.m[r][0] * 2 + map.m[r][1] * 3 + map.m[r][2] * 4 + map.m[r][3], expected[r],
                1e-5);
}

TEST(Geometry, EachAxisRunsAlongAnotherOfTheWorlds) {
  Eigen::Matrix3d permuted;
  permuted << 0, 0, -1, 1, 0, 0, 0, 1, 0;
  const Eigen::Matrix3d small =
      Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 2, 3).normalized()).toRotationMatrix();
  EXPECT_EQ(nearest_world_axes(small * permuted), permuted);
  Eigen::Quaterniond turn = Eigen::Quaterniond::UnitRandom();
  for (int i = 0; i < 1000; ++i, turn = Eigen::Quaterniond::UnitRandom()) {
    const Eigen::Matrix3d direction = turn.toRotationMatrix();
    const Eigen::Matrix3d axes = nearest_world_axes(direction);
    EXPECT_EQ(axes.determinant(), 1) << direction;
    // No turn is further than this from the nearest one of a cube to itself.
    EXPECT_LT(Eigen::AngleAxisd(axes.transpose() * direction).angle(), 1.0966) << direction;
  }
}

TEST(Geometry, RefusesWhatIsNoGrid) {
  Geometry g = plain_geometry({4, 4, 4});
  EXPECT_NO_THROW(g.validate("it"));
  g.spacing.y() = 0;
  EXPECT_THROW(g.validate("it"), InvalidArgument);
  g = plain_geometry({4, 0, 4});
  EXPECT_THROW(g.validate("it"), InvalidArgument);
  g = plain_geometry({4, 4, 4});
  g.direction(0, 1) = 0.1;
  EXPECT_THROW(g.validate("it"), InvalidArgument);
  EXPECT_NO_THROW(plain_geometry({2048, 2048, 2048}).validate("it"));
  EXPECT_THROW(plain_geometry({2300, 2300, 2300}).validate("it"), InvalidArgument)
      << "1.2e10 voxels";
  EXPECT_THROW(plain_geometry({INT32_MAX, INT32_MAX, INT32_MAX}).validate("it"), InvalidArgument);
  EXPECT_NO_THROW(plain_geometry({1 << 30, 1, 1}).validate("it"));
  EXPECT_THROW(plain_geometry({1 << 15, 3, 1 << 15}).validate("it"), InvalidArgument)
      << "31 bits cannot number the rows of a field on it";
}

TEST(Geometry, SameGridSeesASmallShift) {
  const Geometry a = oblique_geometry({9, 8, 7});
  Geometry b = a;
  EXPECT_TRUE(same_grid(a, b));
  b.origin.x() += 0.01;
  EXPECT_FALSE(same_grid(a, b));
}

TEST(DeviceName, ParsesAndListsWhatExists) {
  EXPECT_EQ(Device::parse("cpu").name(), "cpu");
  EXPECT_NO_THROW(Device::parse("auto"));
  EXPECT_THROW(Device::parse("gpu"), InvalidArgument);
  EXPECT_THROW(Device::parse("cuda:"), InvalidArgument);
  EXPECT_THROW(Device::parse("cuda:x"), InvalidArgument);
  for (const char* word : {"cuda:1-0", "cuda:0-", "cuda:-1", "cuda:0-1-2", "cuda:0-9999"})
    EXPECT_THROW(Device::parse(word), InvalidArgument) << word;
  EXPECT_EQ((Device{Device::Kind::cuda, 2, 3}).name(), "cuda:2-4");
  try {
    Device::parse("cuda:77");
    FAIL() << "there is no such device";
  } catch (const InvalidArgument& e) {
    EXPECT_NE(std::string(e.what()).find("available: cpu"), std::string::npos);
  }
}

class Memory : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Memory);

TEST_P(Memory, IsCountedAndGivenBack) {
  const std::vector<float> values = random_values(1000, 1);
  const std::size_t before = ctx.statistics().allocations;
  {
    Buffer<float> buffer(ctx, values);
    EXPECT_EQ(ctx.statistics().bytes_in_use, 4000u);
    Buffer<float> moved = std::move(buffer);
    EXPECT_EQ(buffer.size(), 0u);  // NOLINT(bugprone-use-after-move): it says so
    EXPECT_EQ(moved.clone(ctx).to_host(ctx), values);
  }
  EXPECT_EQ(ctx.statistics().allocations, before + 2);
  EXPECT_EQ(ctx.statistics().bytes_in_use, 0u);
  EXPECT_EQ(ctx.statistics().peak_bytes, 8000u);
}

// Large enough for page-locked buffers (core/staging.h), of no round size and not from the start.
TEST_P(Memory, LargeCopiesKeepEveryByteAndTheirOrder) {
  const std::size_t count = (std::size_t(24) << 20) + 12345, from = 3;
  std::vector<unsigned char> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)(i * 2654435761u >> 13);
  Buffer<unsigned char> there(ctx, from + count);
  ctx.copy_to_device(there.data() + from, bytes.data(), count);
  std::vector<unsigned char> back(count);
  ctx.copy_to_host(back.data(), there.data() + from, count);
  EXPECT_TRUE(back == bytes);

  // Copies one upon the other: each sees what the one before has left.
  std::vector<unsigned char> twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  Buffer<unsigned char> longer(ctx, twice.size());
  ctx.copy_to_device(longer.data(), bytes.data(), count);
  ctx.copy_on_device(longer.data() + count, longer.data(), count);
  bytes.assign(count, 7);
  ctx.copy_to_device(longer.data(), bytes.data(), count);
  std::fill_n(twice.begin(), count, (unsigned char)7);
  EXPECT_TRUE(longer.to_host(ctx) == twice);
}

TEST_P(Memory, TooMuchIsASentence) {
  try {
    const Buffer<char> buffer(ctx, std::size_t(1) << 50);
    FAIL() << "a pebibyte was allocated";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("MiB"), std::string::npos);
  }
}

TEST(PortableLog, IsWithinTwoUlp) {
  std::mt19937_64 generator(3);
  for (int i = 0; i < 200000; ++i) {
    const double x =
        std::ldexp(1.0 + double(generator()) / 18446744073709551616.0, int(generator() % 120) - 60);
    const double expected = std::log(x);
    EXPECT_NEAR(log_positive(x), expected, 4.5e-16 * std::max(1e-3, std::abs(expected))) << x;
  }
  EXPECT_EQ(log_positive(1.0), 0.0);
}

class Loops : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Loops);

TEST_P(Loops, VisitEveryVoxelOnce) {
  for (const Extent e : {Extent{1, 1, 1}, Extent{61, 47, 33}, Extent{10000, 1, 1},
                         Extent{4097, 2, 1}, Extent{1, 1, 500}, Extent{3, 2, 70000}}) {
    Volume<float> v(ctx, plain_geometry(e));
    ctx.fill_zero(v.view().data, e.count() * sizeof(float));
    for_each_voxel(ctx, e, CountVisits{v.view()});
    for (float visits : v.to_host(ctx)) ASSERT_EQ(visits, 1.0f);
  }
}

template <class Body>
std::vector<double> sums(Context& ctx, const std::vector<float>& values, int terms) {
  const Buffer<float> v(ctx, values);
  const ReduceWorkspace work(ctx, values.size(), terms);
  Buffer<double> result(ctx, std::size_t(terms));
  Body body;
  body.v = v.data();
  reduce(ctx, values.size(), terms, body, work, result.data());
  return result.to_host(ctx);
}

TEST_P(Loops, SumTheSameBitsForAnyThreadsAndDevice) {
  for (const std::size_t n : {1u, 255u, 256u, 257u, 4095u, 4096u, 4097u, 100003u, 3000001u}) {
    const std::vector<float> values = random_values(n, unsigned(n), -1, 1);
    long double sum = 0, squares = 0;
    for (float v : values) sum += v, squares += (long double)v * v;
    const std::vector<double> result = sums<SumAndSquares>(ctx, values, 2);
    EXPECT_NEAR(result[0], double(sum), 1e-12 * double(n));
    EXPECT_NEAR(result[1], double(squares), 1e-12 * double(n));
    for (int threads : {1, 2, 5}) {
      Context host({}, threads);
      EXPECT_EQ(sums<SumAndSquares>(host, values, 2), result)
          << n << " values, " << threads << " threads";
    }
  }
}

TEST_P(Loops, SumSeveralTermsOfAnElementAtOnce) {
  for (const std::size_t n : {1u, 257u, 4095u, 4097u, 100003u, 3000001u}) {
    const std::vector<float> values = random_values(n, unsigned(n), -1, 1);
    const std::vector<double> alone = sums<SumAndSquares>(ctx, values, 2);
    for (const int terms : {1, 2, 3, 4}) {
      const std::vector<double> result = sums<SumsOfPowers>(ctx, values, terms);
      for (int t = 0; t < std::min(terms, 2); ++t) EXPECT_EQ(result[t], alone[t]) << n;
      EXPECT_EQ(result, sums<SumsOfPowers>(cpu, values, terms)) << n << ", " << terms << " terms";
    }
  }
}

TEST_P(Loops, PortableLogHasTheSameBits) {
  std::vector<float> values = random_values(100003, 5, 1e-6f, 1e6f);
  const auto logs = [&](Context& c) {
    const Buffer<float> v(c, values);
    Volume<double> out(c, plain_geometry({int(values.size()), 1, 1}));
    for_each_voxel(c, out.extent(), Logarithm{v.data(), out.view()});
    return out.to_host(c);
  };
  EXPECT_EQ(logs(ctx), logs(cpu));
}

TEST_P(Loops, QuotientsAreRoundedCorrectly) {
  const int n = 8000000;
  const std::uint32_t step = 125;  // of the 120 x 2^23 floats below 2^60
  Volume<float> out(ctx, plain_geometry({n, 2, 1}));
  const Quotients body{step, out.view()};
  for_each_voxel(ctx, Extent{n, 1, 1}, body);
  const std::vector<float> found = out.to_host(ctx);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    // a double's quotient of floats, rounded again, is the float's
    const double b = body.denominator(i);
    wrong += found[i] != float(double(float(b) - 1.0f) / b);
    wrong += found[n + i] != float(double(1.2345678f + float(i % 1024)) / b);
  }
  EXPECT_EQ(wrong, 0);
  // Denominators whose reciprocal is hardest to round: all ones in the mantissa, from 2^-60 on.
  Volume<float> ones(ctx, plain_geometry({119, 2, 1}));
  const Quotients hard{1u << 23, ones.view(), (1u << 23) - 1};
  for_each_voxel(ctx, Extent{119, 1, 1}, hard);
  const std::vector<float> rounded = ones.to_host(ctx);
  for (int i = 0; i < 119; ++i)
    EXPECT_EQ(rounded[i], float(double(hard.denominator(i) - 1.0f) / hard.denominator(i))) << i;
  for (const float no : {0.0f, -1.0f, 1e-30f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN})
    EXPECT_FALSE(is_moderate(no)) << no;
  for (const float yes : {0x1p-60f, 0.5f, 1.0f, 3e5f, 0x1.fffffep59f})
    EXPECT_TRUE(is_moderate(yes)) << yes;
}

}  // namespace
}  // namespace freeflow
