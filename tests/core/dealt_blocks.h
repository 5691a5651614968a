// How a launch is dealt out, for tests: for_each_share is nvcc's alone.
#pragma once

#include <vector>

#include <freeflow/core/context.h>

namespace freeflow::test {

struct DealtBlocks {
  int gpu;
  unsigned first, count;
  friend bool operator==(const DealtBlocks&, const DealtBlocks&) = default;
};

/// In the order in which they are started. `ctx` is of a GPU, or of several.
std::vector<DealtBlocks> dealt_blocks(const Context& ctx, unsigned length, unsigned planes);

}  // namespace freeflow::test
