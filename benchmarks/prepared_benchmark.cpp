// What prepared images save: the pair of OASIS by the default pipeline, the fixed image prepared by
// an earlier registration or not. The moving image is new each time, as in a cohort.
#include <freeflow/registration/register_images.h>

#include <chrono>
#include <memory>

#include "support.h"
#include "support/real_data.h"

namespace freeflow::bench {
namespace {

void run(benchmark::State& state, const Device& device, bool prepared) {
  const auto folder = test::real_data() / "brain_oasis_aligned";
  if (!std::filesystem::exists(folder / "0001_norm.nii.gz")) {
    state.SkipWithError("needs FREEFLOW_DATA");
    return;
  }
  Context ctx(device);
  const Volume<float> fixed = to_volume(ctx, read_image((folder / "0001_norm.nii.gz").string()));
  const Volume<float> moving = to_volume(ctx, read_image((folder / "0002_norm.nii.gz").string()));
  auto earlier = std::make_unique<PreparedImage>(fixed.lend());
  {
    PreparedImage other(moving.lend());
    register_images(ctx, *earlier, other);  // prepares, and warms the device's memory up
  }
  for (auto _ : state) {
    ctx.synchronize();
    const auto start = std::chrono::steady_clock::now();
    PreparedImage now(fixed.lend()), other(moving.lend());
    benchmark::DoNotOptimize(register_images(ctx, prepared ? *earlier : now, other));
    ctx.synchronize();
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.SetLabel("brain_oasis_aligned 0001 <- 0002, 160x192x224");
}

const int registered = [] {
  for (const Device& device : available_devices())
    for (const bool prepared : {false, true}) {
      const std::string name = std::string("register_images/") +
                               (prepared ? "fixed_prepared" : "fixed_new") + "/" +
                               (device.is_cuda() ? "cuda" : "cpu");
      benchmark::RegisterBenchmark(name.c_str(), run, device, prepared)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(device.is_cuda() ? 8 : 1);
    }
  return 0;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
