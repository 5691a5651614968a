#include <apps/one_stream.h>

#include <cstdlib>

namespace freeflow::apps {

void expect_one_stream() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0); }

Context context_of_one_stream(const std::string& device, int threads) {
  expect_one_stream();
  return Context(Device::parse(device), threads);
}

}  // namespace freeflow::apps
