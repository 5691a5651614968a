// Private: how long a stage took, by a clock that is never set.
#pragma once

#include <chrono>

namespace freeflow {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace freeflow
