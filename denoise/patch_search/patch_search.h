// For every patch of a narrow band the m most similar ones of the whole band (Lee et al. 2012,
// section 3.1.2): exhaustive and exact. Similar means a small D(x, y) = |phi[x] - phi[y]|^2 (eq.
// 15), equal ones in the order of their index, so that the result does not depend on the strategy,
// the device or the number of threads. Nothing of size count x count exists.
//
// Every strategy decides by the same float distance, summed in one order (distance_body.h). What is
// computed besides (`tiled`'s products of halves, the CPU's bounds) only leaves out what certainly
// does not belong to the m best.
// Cost: 2 length count^2 operations on a GPU; on the CPU far less where patches lie close to few
// dimensions, as those of smooth surfaces do, and never more than one distance per pair. Memory
// search_bytes().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <freeflow/core/buffer.h>

namespace freeflow {

/// How a GPU compares all with all. File name = enumerator = command-line word = test suffix =
/// benchmark row. The CPU takes every name and has one way: boxes of patches by their leading
/// components, nearest first (reduced_patches.h).
enum class SearchStrategy {
  /// Overview: tiled where the GPU can (compute capability 8.0), else global.
  automatic,
  /// Overview: passes over 64 KiB of patches in constant memory (130 of 5^3), one thread per
  /// element, its patch and its m best in shared memory, insertion sort (Lee). Good when: it is
  /// 2012. One search at a time per GPU and process.
  constant,
  /// Overview: the same passes, the patches of a pass read through a texture (Lee).
  texture,
  /// Overview: the same passes, the patches of a pass read from global memory through the caches
  /// (Lee).
  /// Good when: the GPU is too old for tiled.
  global,
  /// Overview: tiles of 128 x 128 pairs by tensor cores in half precision with a bound on their
  /// error; what may belong to the m best is computed again in float. Needs compute capability 8.0
  /// and 98 KiB of shared memory per block.
  tiled,
};

struct SearchStrategyInfo {
  SearchStrategy strategy;
  std::string_view name;
  std::string_view overview;
};

/// Every strategy, in the order of the enum.
std::span<const SearchStrategyInfo> search_strategies();
/// The strategy of that command-line word, or nothing.
std::optional<SearchStrategy> parse_search_strategy(std::string_view name);

/// Patches as rows: row i is values[i * stride] ..., `length` values and zeros up to `stride`.
struct PatchView {
  const float* values = nullptr;
  int count = 0;
  int length = 0;
  int stride = 0;

  /// Rows start at multiples of 32 bytes.
  static int stride_of(int length) { return (length + 7) / 8 * 8; }
};

/// What is found for the rows [first, first + rows): for row r, at (r - first) * neighbours, index
/// and D, most similar first. Rows of fewer candidates than `neighbours` end with index -1 and D
/// infinity.
struct SimilarView {
  std::int32_t* index = nullptr;
  float* distance = nullptr;
  int neighbours = 0;
};

/// Called after each pass with the share that is done; may throw Cancelled.
using SearchProgress = std::function<void(double share)>;

inline constexpr int max_neighbours = 256;

/// Searches for rows [first, first + rows) among all patches. Allocates its scratch. Throws
/// InvalidArgument when `neighbours` is not in 1 .. 256, there are fewer patches than that, or the
/// GPU cannot run the strategy.
void find_similar(Context& ctx, SearchStrategy strategy, const PatchView& patches, int first,
                  int rows, const SimilarView& found, const SearchProgress& progress = {});

/// Device memory that a search takes besides the patches and the result.
std::size_t search_bytes(const Context& ctx, SearchStrategy strategy, int count, int length,
                         int rows, int neighbours);

}  // namespace freeflow
