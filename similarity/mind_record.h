// A voxel's self-similarity context (mind.h), as kernels see it.
#pragma once

#include <cstdint>

namespace freeflow {

/// One read of a GPU's: channel k is byte k of `channels`, the lowest
/// first; bit k of `present` says whether it exists.
struct alignas(16) MindRecord {
  static constexpr int count = 12;
  static constexpr std::uint32_t all = (1u << count) - 1;
  std::uint32_t channels[3];
  std::uint32_t present;
};

}  // namespace freeflow
