// Picks the CUDA kernels of a strategy. A new strategy is one file and one line here.
#include <string>

#include <freeflow/core/error.h>
#include <freeflow/denoise/patch_search/strategies.h>

namespace freeflow {

namespace {

const CudaSearch& entry(SearchStrategy strategy) {
  switch (strategy) {
    case SearchStrategy::constant: return constant_search;
    case SearchStrategy::texture: return texture_search;
    case SearchStrategy::global: return global_search;
    case SearchStrategy::tiled: return tiled_search;
    case SearchStrategy::automatic: break;
  }
  return tiled_search.runs_here() ? tiled_search : global_search;
}

}  // namespace

void run_search(backend::Cuda cuda, SearchStrategy strategy, const Search& search) {
  const CudaSearch& chosen = entry(strategy);
  require(
      chosen.runs_here(),
      "this GPU is too old for the strategy 'tiled'; take SearchStrategy::global, or automatic");
  chosen.run(cuda, search);
}

std::size_t search_scratch(backend::Cuda, SearchStrategy strategy, const PatchView& patches,
                           int rows, int neighbours) {
  return entry(strategy).scratch_bytes(patches, rows, neighbours);
}

}  // namespace freeflow
