#include <apps/pair_run.h>

#include <future>

namespace freeflow::apps {

void run_alone(PairRun& run, const std::string& device, int threads) {
  std::future<Context> starting =
      std::async(std::launch::async, [&] { return Context(Device::parse(device), threads); });
  run.read();
  Context ctx = starting.get();
  run.compute(ctx)();
}

}  // namespace freeflow::apps
