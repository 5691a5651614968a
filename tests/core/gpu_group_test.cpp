// Memory and launches of several GPUs that are one device.
#include <freeflow/core/gpu_group.h>

#include <numeric>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>

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
  EXPECT_EQ(stripes_of(240, 3, 2, 10), expected);
  EXPECT_EQ(stripes_of(40, 1, 2, 10), (std::vector<Stripe>{{0, 20}, {1, 20}}));
}

TEST(Stripes, TheLastPageIsCountedWholeAndNoneIsLost) {
  EXPECT_EQ(stripes_of(41, 1, 2, 10), (std::vector<Stripe>{{0, 20}, {1, 30}}));
  for (const std::size_t bytes : {1, 9, 10, 11, 99, 1234, 100003})
    for (const int planes : {1, 3, 6})
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
          EXPECT_NEAR(double(bytes_on(stripes, gpu)), double(bytes) / gpus, 10.0 * planes + 10)
              << bytes << " bytes in " << planes << " planes on " << gpus;
      }
}

TEST(Stripes, ThirteenTerabytesDoNotOverflow) {
  const std::size_t page = std::size_t(2) << 20, bytes = std::size_t(13) << 40;
  const std::vector<Stripe> stripes = stripes_of(bytes, 12, 8, page);
  EXPECT_EQ(stripes.size(), 96u);
  EXPECT_NEAR(double(bytes_on(stripes, 7)), double(bytes) / 8, 12.0 * page);
}

class Groups : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Groups);

TEST_P(Groups, MemoryHoldsWhatWasCopiedThereAndIsGivenBack) {
  std::vector<float> values(3 * 12345);
  std::iota(values.begin(), values.end(), 1.0f);
  const std::size_t before = ctx.statistics().bytes_in_use;
  {
    const Buffer<float> planes(ctx, values, 3);
    EXPECT_EQ(planes.clone(ctx).to_host(ctx), values);
    Buffer<float> zero(ctx, values.size(), 3);
    zero.fill_zero(ctx);
    EXPECT_EQ(zero.to_host(ctx), std::vector<float>(values.size()));
  }
  EXPECT_EQ(ctx.statistics().bytes_in_use, before);
}

TEST_P(Groups, MoreMemoryThanThereIsIsASentence) {
  if (!GetParam().is_cuda()) GTEST_SKIP() << "the host's memory is tested elsewhere";
  try {
    const Buffer<float> planes(ctx, std::size_t(1) << 45, 3);
    FAIL() << "128 TiB were found";
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
