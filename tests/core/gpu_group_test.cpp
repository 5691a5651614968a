// Memory and launches of several GPUs that are one device.
#include <freeflow/core/gpu_group.h>

#include <numeric>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>
#include <freeflow/core/side_by_side.h>
#include <freeflow/core/small_work.h>

#include "core/dealt_blocks.h"
#include "support/devices.h"

namespace freeflow {
namespace {

using namespace test;

std::size_t bytes_on(const std::vector<Stripe>& stripes, int gpu) {
  std::size_t bytes = 0;
  for (const Stripe& s : stripes) bytes += s.gpu == gpu ? s.bytes : 0;
  return bytes;
}

TEST(Stripes, EveryGpuHasTheSamePartOfEveryPlane) {
  const std::vector<Stripe> expected{{0, 40}, {1, 40}, {0, 40}, {1, 40}, {0, 40}, {1, 40}};
  EXPECT_EQ(stripes_of(240, {3}, 2, 10), expected);
  EXPECT_EQ(stripes_of(40, {}, 2, 10), (std::vector<Stripe>{{0, 20}, {1, 20}}));
}

TEST(Stripes, TheLastPageIsCountedWholeAndNoneIsLost) {
  EXPECT_EQ(stripes_of(41, {}, 2, 10), (std::vector<Stripe>{{0, 20}, {1, 30}}));
  for (const std::size_t bytes : {1, 9, 10, 11, 99, 1234, 100003})
    for (const Planes& planes : {Planes{}, Planes{3}, Planes{6}})
      for (const int gpus : {2, 3, 4}) {
        const std::vector<Stripe> stripes = stripes_of(bytes, planes, gpus, 10);
        std::size_t sum = 0;
        for (const Stripe& s : stripes) {
          EXPECT_GT(s.bytes, 0u);
          EXPECT_EQ(s.bytes % 10, 0u);
          sum += s.bytes;
        }
        EXPECT_EQ(sum, (bytes + 9) / 10 * 10);
        for (int gpu = 0; gpu < gpus; ++gpu)
          EXPECT_NEAR(double(bytes_on(stripes, gpu)), double(bytes) / gpus,
                      10.0 * planes.count + 10)
              << bytes << " bytes in " << planes.count << " planes on " << gpus;
      }
}

TEST(Stripes, ThirteenTerabytesDoNotOverflow) {
  const std::size_t page = std::size_t(2) << 20, bytes = std::size_t(13) << 40;
  const std::vector<Stripe> stripes = stripes_of(bytes, {12}, 8, page);
  EXPECT_EQ(stripes.size(), 96u);
  EXPECT_NEAR(double(bytes_on(stripes, 7)), double(bytes) / 8, 12.0 * double(page));
}

class Groups : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Groups);

/// For every block how often it is started, and on which GPU.
struct Started {
  std::vector<int> times, gpu;
  explicit Started(const std::vector<DealtBlocks>& all, std::size_t blocks)
      : times(blocks), gpu(blocks) {
    for (const DealtBlocks& part : all)
      for (unsigned b = part.first; b < part.first + part.count; ++b)
        times.at(b) += 1, gpu.at(b) = part.gpu;
  }
};

TEST_P(Groups, EveryBlockIsStartedOnceWhereItsMemoryLies) {
  if (!GetParam().is_cuda()) GTEST_SKIP() << "blocks are a GPU's";
  const unsigned gpus = unsigned(GetParam().count);
  for (const unsigned length : {1u, 2u, 3u, 24u, 100u, 127u})
    for (const unsigned planes : {1u, 3u}) {
      const Started started(dealt_blocks(ctx, length, planes), length * planes);
      EXPECT_EQ(started.times, std::vector<int>(length * planes, 1))
          << length << " blocks in " << planes << " planes";
    }
  const Started whole(dealt_blocks(ctx, 12 * gpus, 2), 24 * gpus);
  EXPECT_EQ(whole.gpu[0], 0);
  EXPECT_EQ(whole.gpu[12 * gpus - 1], int(gpus) - 1);
  EXPECT_EQ(whole.gpu[12 * gpus], 0) << "the second plane";
}

TEST_P(Groups, ASmallLaunchStaysOnTheFirstGpu) {
  if (!GetParam().is_cuda()) GTEST_SKIP() << "blocks are a GPU's";
  const Context usual(GetParam());
  EXPECT_EQ(dealt_blocks(usual, 100, 3), (std::vector<DealtBlocks>{{0, 0, 300}}));
}

TEST_P(Groups, MemoryHoldsWhatWasCopiedThereAndIsGivenBack) {
  const std::size_t before = ctx.statistics().bytes_in_use;
  for (const std::size_t each : {12345, 7 << 20}) {  // the latter on several pages of a real GPU
    std::vector<float> values(3 * each);
    std::iota(values.begin(), values.end(), 1.0f);
    const Buffer<float> planes(ctx, values, Planes{3});
    EXPECT_EQ(planes.clone(ctx).to_host(ctx), values);
    Buffer<float> zero(ctx, values.size(), Planes{3});
    zero.fill_zero(ctx);
    EXPECT_EQ(zero.to_host(ctx), std::vector<float>(values.size()));
  }
  EXPECT_EQ(ctx.statistics().bytes_in_use, before);
}

TEST_P(Groups, EveryPartCountsWithTheWhole) {
  const std::size_t before = ctx.statistics().bytes_in_use;
  {
    std::vector<Context> parts = ctx.parts();
    EXPECT_EQ(int(parts.size()), ctx.sharing());
    std::vector<Buffer<float>> of_parts;
    {
      const SideBySide together(ctx);
      for (Context& part : parts) {
        of_parts.emplace_back(part, 1000);
        of_parts.back().fill_zero(part);
      }
    }
    EXPECT_EQ(ctx.statistics().bytes_in_use, before + parts.size() * 4000);
    for (const Buffer<float>& buffer : of_parts)
      EXPECT_EQ(buffer.to_host(ctx), std::vector<float>(1000));
    Context rehearsal = ctx.rehearsal();
    EXPECT_EQ(rehearsal.parts().size(), parts.size());
  }
  EXPECT_EQ(ctx.statistics().bytes_in_use, before);
}

TEST_P(Groups, SmallWorkIsTheFirstGpus) {
  const int sharing = ctx.sharing();
  const GpuGroup* const group = ctx.group();
  ctx.state()->least_shared = 1000;
  std::vector<float> values(1 << 20, 3.0f);
  const Buffer<float> before(ctx, values);
  Buffer<float> within;
  {
    const SmallWork small(ctx, 999);
    EXPECT_EQ(ctx.sharing(), 1);
    EXPECT_EQ(ctx.parts().size(), 1u);
    EXPECT_EQ(ctx.group(), nullptr);
    {
      const SmallWork of_it(ctx, 1000);
      EXPECT_EQ(ctx.sharing(), 1) << "what is a part of small work is small";
    }
    EXPECT_EQ(ctx.rehearsal().state()->least_shared, 1000u);
    within = before.clone(ctx);
    EXPECT_FALSE(group && group->holds(within.data()));
    EXPECT_EQ(before.to_host(ctx), values);
    ctx.fill_zero(before.data(), before.size() * sizeof(float));
  }
  EXPECT_EQ(ctx.sharing(), sharing);
  EXPECT_EQ(ctx.group(), group);
  EXPECT_EQ(within.to_host(ctx), values);
  EXPECT_EQ(before.to_host(ctx), std::vector<float>(values.size()));
  const SmallWork large(ctx, 1000);
  EXPECT_EQ(ctx.sharing(), sharing);
}

TEST_P(Groups, MoreMemoryThanThereIsIsASentence) {
  if (!GetParam().is_cuda()) GTEST_SKIP() << "the host's memory is tested elsewhere";
  try {
    const Buffer<float> planes(ctx, std::size_t(1) << 40, Planes{3});
    FAIL() << "4 TiB were found";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("MiB more were needed"), std::string::npos)
        << error.what();
  }
}

TEST_P(Groups, MemoryOfOneGpuIsNotThatOfSeveral) {
  if (GetParam().count == 1) GTEST_SKIP() << "one device";
  Context first(Device{Device::Kind::cuda, 0});
  const Buffer<float> of_first(first, std::vector<float>(8));
  EXPECT_THROW((void)of_first.to_host(ctx), InvalidArgument);
}

}  // namespace
}  // namespace freeflow
