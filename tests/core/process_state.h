// What a CUDA process shares, read by the runtime's own calls: a library must leave it as it is.
#pragma once

#include <cstdint>

#include <freeflow/core/device.h>

namespace freeflow::test {

struct ProcessState {
  int current_device = -1;  ///< of the calling thread
  /// bytes that the device's default memory pool does not give back
  std::uint64_t default_pool_keeps = 0;
};

/// Nothing to read on the CPU.
ProcessState process_state(const Device& device);

}  // namespace freeflow::test
