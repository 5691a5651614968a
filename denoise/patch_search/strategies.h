// Private: the two backends of find_similar, and the CUDA entries of every strategy, one file each.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/denoise/patch_search/patch_search.h>

namespace freeflow {

/// What a strategy is asked to do.
struct Search {
  PatchView patches;
  int first = 0, rows = 0;
  SimilarView found;
  std::byte* scratch = nullptr;
  const SearchProgress* progress = nullptr;

  void report(double share) const {
    if (*progress) (*progress)(share);
  }
};

void run_search(backend::Cpu, SearchStrategy, const Search&);
std::size_t search_scratch(backend::Cpu, SearchStrategy, const PatchView&, int rows,
                           int neighbours);

/// Picks the strategy (patch_search.cu).
void run_search(backend::Cuda, SearchStrategy, const Search&);
std::size_t search_scratch(backend::Cuda, SearchStrategy, const PatchView&, int rows,
                           int neighbours);

/// One CUDA strategy: whether this GPU can run it, the scratch it needs, and the search.
struct CudaSearch {
  bool (*runs_here)();
  std::size_t (*scratch_bytes)(const PatchView&, int rows, int neighbours);
  void (*run)(backend::Cuda, const Search&);
};

extern const CudaSearch constant_search, texture_search, global_search, tiled_search;

}  // namespace freeflow
