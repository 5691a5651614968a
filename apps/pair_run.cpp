#include <apps/pair_run.h>

#include <omp.h>

#include <optional>
#include <system_error>

#include <apps/one_stream.h>
#include <freeflow/core/release_device.h>

namespace freeflow::apps {

std::future<Context> start_context(const std::string& device, int threads) {
  // A new thread knows nothing of what this one was told of OMP_NUM_THREADS.
  const int most = threads > 0 ? threads : omp_get_max_threads();
  return std::async(std::launch::async,
                    [device, most] { return Context(Device::parse(device), most); });
}

void run_alone(PairRun& run, const std::string& device, int threads) {
  expect_one_stream();
  std::future<Context> starting = start_context(device, threads);
  run.read();
  std::optional<Context> ctx = starting.get();
  const Device used = ctx->device();
  const std::function<void()> end = run.compute(*ctx, false);
  ctx.reset();
  std::future<void> leaving;  // takes as long as the last files
  try {
    leaving = std::async(std::launch::async, [used] { release_device(used); });
  } catch (const std::system_error&) {  // no more threads: the end of the process does it
  }
  end();
}

}  // namespace freeflow::apps
