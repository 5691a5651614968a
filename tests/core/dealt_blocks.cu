#include "core/dealt_blocks.h"

#include <freeflow/core/shares.cuh>

namespace freeflow::test {

std::vector<DealtBlocks> dealt_blocks(const Context& ctx, unsigned length, unsigned planes) {
  std::vector<DealtBlocks> all;
  for_each_share(backend::Cuda{ctx.stream(), ctx.group()},
                 {length * planes, length * planes, planes}, [&](const Share& share, int gpu) {
                   all.push_back({gpu, share.first, share.count()});
                 });
  return all;
}

}  // namespace freeflow::test
