#include <apps/pair_run.h>

#include <omp.h>

#include <apps/host_memory.h>
#include <apps/one_stream.h>

namespace freeflow::apps {

std::future<Context> start_context(const std::string& device, int threads) {
  // A new thread knows nothing of what this one was told of OMP_NUM_THREADS.
  const int most = threads > 0 ? threads : omp_get_max_threads();
  return std::async(std::launch::async, [device, most] {
    Context ctx(Device::parse(device), most);
    keep_freed_memory(ctx);
    return ctx;
  });
}

void run_alone(PairRun& run, const std::string& device, int threads) {
  expect_one_stream();
  std::future<Context> starting = start_context(device, threads);
  run.read();
  Context ctx = starting.get();
  run.compute(ctx, false)();
}

}  // namespace freeflow::apps
