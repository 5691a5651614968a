#include <freeflow/denoise/patch_search/patch_search.h>

#include <array>
#include <string>

#include <freeflow/core/error.h>
#include <freeflow/denoise/patch_search/strategies.h>

namespace freeflow {

namespace {

constexpr std::array strategy_table{
    SearchStrategyInfo{SearchStrategy::automatic, "auto", "tiled where the GPU can, else global"},
    SearchStrategyInfo{SearchStrategy::constant, "constant",
                       "passes over 64 KiB of patches in constant memory, insertion sort"},
    SearchStrategyInfo{SearchStrategy::texture, "texture",
                       "the same passes, patches through a texture"},
    SearchStrategyInfo{SearchStrategy::global, "global",
                       "the same passes, patches through the caches of global memory"},
    SearchStrategyInfo{SearchStrategy::tiled, "tiled",
                       "tiles of tensor-core products choose, float distances decide"},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < strategy_table.size(); ++i)
    if (std::size_t(strategy_table[i].strategy) != i) return false;
  return true;
}
static_assert(in_enum_order(), "strategy_table must list every SearchStrategy, in order");

}  // namespace

std::span<const SearchStrategyInfo> search_strategies() { return strategy_table; }

std::optional<SearchStrategy> parse_search_strategy(std::string_view name) {
  for (const SearchStrategyInfo& info : strategy_table)
    if (info.name == name) return info.strategy;
  return std::nullopt;
}

std::size_t search_bytes(const Context& ctx, SearchStrategy strategy, int count, int length,
                         int rows, int neighbours) {
  std::size_t bytes = 0;
  const PatchView patches{nullptr, count, length, PatchView::stride_of(length)};
  backend::dispatch_always(ctx, [&](auto target) {
    bytes = search_scratch(target, strategy, patches, rows, neighbours);
  });
  return bytes;
}

void find_similar(Context& ctx, SearchStrategy strategy, const PatchView& patches, int first,
                  int rows, const SimilarView& found, const SearchProgress& progress) {
  const int m = found.neighbours;
  require(m >= 1 && m <= max_neighbours,
          "the number of neighbours must lie between 1 and " + std::to_string(max_neighbours));
  require(patches.count >= m, "there are only " + std::to_string(patches.count) +
                                  " patches to choose " + std::to_string(m) + " from");
  require(patches.stride >= patches.length && patches.stride % 8 == 0,
          "rows of patches must be padded to a multiple of 8 values");
  require(first >= 0 && rows >= 0 && first + rows <= patches.count,
          "the rows to search for are not among the patches");
  if (rows == 0) return;
  const Buffer<std::byte> scratch(
      ctx, search_bytes(ctx, strategy, patches.count, patches.length, rows, m));
  const Search search{patches, first, rows, found, scratch.data(), &progress};
  backend::dispatch(ctx, [&](auto target) { run_search(target, strategy, search); });
}

}  // namespace freeflow
