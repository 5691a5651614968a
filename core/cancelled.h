// How long work is asked to stop.
#pragma once

#include <functional>

namespace freeflow {

/// What work throws that was asked to stop. No std::exception: nobody shall take it for a failure.
struct Cancelled {};

/// Asked now and then by long work; true: stop. Empty: never.
using StopRequest = std::function<bool()>;

/// Throws Cancelled when the request says so.
inline void stop_if(const StopRequest& stop) {
  if (stop && stop()) throw Cancelled{};
}

}  // namespace freeflow
