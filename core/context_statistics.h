// What a context counts.
#pragma once

#include <cstddef>

namespace freeflow {

/// What the tests count and the reports print. Bytes are of device memory (of host memory on the
/// CPU); lent memory does not count.
struct ContextStatistics {
  std::size_t allocations = 0;
  std::size_t synchronizations = 0;
  std::size_t bytes_in_use = 0;
  std::size_t peak_bytes = 0;
};

/// Size of Context::readback().
inline constexpr std::size_t readback_bytes = 16384;

}  // namespace freeflow
