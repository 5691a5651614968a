// What tests ask of the emulated device beyond CUDA's own interface.
#pragma once

#include <climits>

namespace emulation {

inline constexpr long never = LONG_MAX;

/// After so many more calls of the runtime every call fails, as where a GPU fell off its bus; never
/// brings it back.
void lose_gpu_after(long more_calls);
/// Calls of the runtime so far.
long runtime_calls();

}  // namespace emulation
