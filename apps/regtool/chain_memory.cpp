#include <apps/regtool/chain_memory.h>

#include <algorithm>

#include <freeflow/core/memory.h>

namespace freeflow::apps {

std::size_t field_bytes(const Geometry& grid) { return 3 * sizeof(float) * grid.extent.count(); }

std::size_t largest_field_bytes(const HostChain& chain) {
  std::size_t most = 0;
  for (const HostTransform& transform : chain.transforms)
    for (const auto& step : transform.steps)
      if (const auto* field = std::get_if<HostField>(&step))
        most = std::max(most, field_bytes(field->geometry));
  return most;
}

void require_chain_memory(const Context& ctx, const HostChain& chain, const std::string& what,
                          std::size_t result_bytes, const ChainWork& work) {
  Context rehearsal = ctx.rehearsal();
  std::vector<std::string> unsaid;
  work(rehearsal, to_transform(rehearsal, chain, unsaid));
  const std::size_t predicted = rehearsal.statistics().peak_bytes;
  const std::size_t writing = 2 * result_bytes;  // as it comes, and in the file's units or type
  const std::string coarser = "take a reference on a coarser grid, or crop it to the object";
  if (ctx.device().is_cuda()) {
    require_free(ctx, predicted, what, "close other programs, take --device cpu, or " + coarser);
    require_free_host(writing, what, "close other programs, or " + coarser);
  } else {
    require_free_host(predicted + writing, what, "close other programs, or " + coarser);
  }
}

}  // namespace freeflow::apps
