// Memory and streams that are lent, wrong devices, rehearsals, and several contexts at once.
#include <freeflow/core/context.h>

#include <omp.h>

#include <array>
#include <thread>

#include <freeflow/core/memory.h>
#include <freeflow/core/volume.h>

#include "core/process_state.h"
#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class Contexts : public OnDevice {
 protected:
  /// A context of another device than the one under test, a GPU's stood in for by a rehearsal where
  /// there is none.
  static Context elsewhere(const Device& here) {
    for (const Device& d : available_devices())
      if (!(d == here)) return Context(d);
    return Context(here).rehearsal();
  }
};
FREEFLOW_ON_EVERY_DEVICE(Contexts);

TEST_P(Contexts, LentMemoryIsUsedInPlaceAndItsKeeperHeld) {
  const Geometry g = plain_geometry({5, 4, 3});
  const std::vector<float> values = random_values(g.extent.count(), 1);
  const Buffer<float> owner(ctx, values);
  const ContextStatistics before = ctx.statistics();
  auto keeper = std::make_shared<int>(7);
  {
    Volume<float> volume(g, Buffer<float>::lent(ctx, owner.data(), owner.size(), keeper));
    EXPECT_EQ(keeper.use_count(), 2);
    EXPECT_EQ(volume.to_host(ctx), values);
    const Volume<float> again = volume.lend();
    EXPECT_EQ(again.view().data, owner.data());
    const Volume<float> moved = std::move(volume);
    EXPECT_EQ(keeper.use_count(), 2);
    EXPECT_EQ(ctx.statistics().bytes_in_use, before.bytes_in_use)
        << "lent memory is not the context's";
    EXPECT_THROW(Volume<float>(plain_geometry({5, 4, 4}),
                               Buffer<float>::lent(ctx, owner.data(), owner.size(), nullptr)),
                 InvalidArgument);
  }
  EXPECT_EQ(keeper.use_count(), 1);
  EXPECT_EQ(owner.to_host(ctx), values) << "nothing was freed";
  EXPECT_THROW(Buffer<float>::lent(ctx, nullptr, 3, nullptr), InvalidArgument);
}

TEST_P(Contexts, WhatWasMovedFromIsEmpty) {
  const Geometry g = plain_geometry({5, 4, 3});
  const std::vector<float> values = random_values(g.extent.count(), 1);
  Volume<float> volume(ctx, g, values), target;
  Volume<float> moved = std::move(volume);
  // NOLINTBEGIN(bugprone-use-after-move): it says so
  EXPECT_TRUE(volume.empty() && volume.extent() == Extent());
  target = std::move(moved);
  EXPECT_TRUE(moved.empty() && moved.extent() == Extent());
  EXPECT_EQ(target.to_host(ctx), values);
  EXPECT_TRUE(same_grid(target.geometry(), g));
  volume = target.clone(ctx);
  EXPECT_EQ(volume.to_host(ctx), values) << "it can be used again";

  Context there = std::move(ctx);
  EXPECT_THROW(ctx.synchronize(), InvalidArgument);
  EXPECT_THROW(ctx.device(), InvalidArgument);
  EXPECT_THROW(Volume<float>(ctx, g), InvalidArgument);
  EXPECT_THROW(require_on_device(ctx, target), InvalidArgument);
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(target.to_host(there), values);
  ctx = std::move(there);
}

TEST_P(Contexts, MemoryOfAnotherDeviceIsRefusedWithASentence) {
  Context other = elsewhere(GetParam());
  const Geometry g = plain_geometry({5, 4, 3});
  Volume<float> there(other, g);
  try {
    there.to_host(ctx);
    FAIL() << "foreign memory was read";
  } catch (const InvalidArgument& e) {
    EXPECT_FALSE(std::string(e.what()).empty());
  }
  Buffer<float> buffer(other, 10);
  EXPECT_THROW(buffer.fill_zero(ctx), InvalidArgument);
  EXPECT_THROW(buffer.clone(ctx), InvalidArgument);
  if (GetParam().is_cuda()) {
    std::array<float, 4> host{};
    EXPECT_THROW(Buffer<float>::lent(ctx, host.data(), 4, nullptr), InvalidArgument)
        << "host memory";
    EXPECT_THROW(Buffer<float>::lent(cpu, Buffer<float>(ctx, 4).data(), 4, nullptr),
                 InvalidArgument)
        << "device memory";
  }
  Context same(GetParam());
  const Volume<float> here(ctx, g, std::vector<float>(g.extent.count(), 2));
  ctx.synchronize();
  EXPECT_EQ(here.to_host(same), here.to_host(ctx)) << "contexts of one device share its memory";
}

TEST_P(Contexts, ARehearsalCountsAndDoesNothing) {
  Context rehearsal = ctx.rehearsal();
  EXPECT_TRUE(rehearsal.rehearses());
  EXPECT_EQ(rehearsal.device(), ctx.device());
  {
    Buffer<double> huge(rehearsal, std::size_t(1) << 50);  // a pebibyte times eight
    EXPECT_EQ(rehearsal.statistics().bytes_in_use, std::size_t(8) << 50);
    huge.fill_zero(rehearsal);
    const Buffer<int> few(rehearsal, std::vector<int>{1, 2, 3});
    EXPECT_EQ(few.to_host(rehearsal), std::vector<int>(3, 0));
  }
  EXPECT_EQ(rehearsal.statistics().bytes_in_use, 0u);
  EXPECT_EQ(rehearsal.statistics().peak_bytes, (std::size_t(8) << 50) + 3 * sizeof(int));
}

TEST_P(Contexts, SaysWhatDoesNotFit) {
  EXPECT_NO_THROW(require_free(ctx, 1 << 20, "the work", "do less"));
  try {
    require_free(ctx, std::size_t(1) << 50, "the work", "do less");
    FAIL();
  } catch (const DeviceError& e) {
    const std::string sentence = e.what();
    for (const char* part : {"the work", "1073741825 MiB", "free", "do less"})
      EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
  EXPECT_THROW(require_free_host(std::size_t(1) << 50, "the work", "do less"), DeviceError);
}

TEST_P(Contexts, AStreamCanBeLent) {
  if (!GetParam().is_cuda()) {
    int anything;
    EXPECT_THROW(Context::on_stream(GetParam(), &anything), InvalidArgument);
    return;
  }
  EXPECT_THROW(Context::on_stream(GetParam(), nullptr), InvalidArgument);
  Context owner(GetParam());
  const std::vector<float> values = random_values(1000, 1);
  {
    Context lent = Context::on_stream(GetParam(), owner.stream());
    EXPECT_EQ(lent.stream(), owner.stream());
    const Buffer<float> buffer(lent, values);
    EXPECT_EQ(buffer.to_host(lent), values);
  }
  const Buffer<float> after(owner, values);
  EXPECT_EQ(after.to_host(owner), values) << "the stream outlives the context that borrowed it";
}

TEST_P(Contexts, TheProcessIsLeftAlone) {
  const ProcessState before = process_state(GetParam());
  const int threads = omp_get_max_threads();
  {
    Context fresh(GetParam(), 2);
    Buffer<float> buffer(fresh, std::vector<float>(1000, 1));
    buffer.to_host(fresh);
    const ProcessState during = process_state(GetParam());
    EXPECT_EQ(during.current_device, before.current_device);
    EXPECT_EQ(during.default_pool_keeps, before.default_pool_keeps);
  }
  EXPECT_EQ(omp_get_max_threads(), threads);
}

}  // namespace
}  // namespace freeflow
