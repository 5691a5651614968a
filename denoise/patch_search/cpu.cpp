// The CPU's search: the patches of a leaf (reduced_patches.h) against the leaves near it, nearest
// first. What a bound of few numbers does not leave out, of a leaf or of a patch, is compared in
// full, and that decides.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/denoise/patch_search/distance_body.h>
#include <freeflow/denoise/patch_search/reduced_patches.h>
#include <freeflow/denoise/patch_search/strategies.h>

namespace freeflow {

namespace {

/// The m best of one row so far, ascending.
class Best {
 public:
  explicit Best(int m) : keys_(std::size_t(m), no_candidate) {}
  void clear() { std::fill(keys_.begin(), keys_.end(), no_candidate); }
  CandidateKey bound() const { return keys_.back(); }
  void offer(CandidateKey key) {
    if (key >= bound()) return;
    // Without a branch that depends on a key: none of them could be foreseen.
    CandidateKey* place = keys_.data();
    for (std::size_t n = keys_.size(); n > 1; n -= n / 2)
      place += place[n / 2 - 1] < key ? n / 2 : 0;
    std::copy_backward(place, keys_.data() + keys_.size() - 1, keys_.data() + keys_.size());
    *place = key;
  }
  const std::vector<CandidateKey>& keys() const { return keys_; }

 private:
  std::vector<CandidateKey> keys_;
};

/// patch_distance(), its lanes in one register.
float full_distance(const float* a, const float* b, int stride) {
  PartialDistance d;
  for (int k = 0; k < stride; k += PartialDistance::lanes)
#pragma GCC unroll 1
    for (int l = 0; l < PartialDistance::lanes; ++l) d.add(l, a[k + l], b[k + l]);
  return d.total();
}

/// How far the interval [a, b] lies from [low, high].
float gap(float a, float b, float low, float high) {
  return std::max(std::max(low - b, a - high), 0.0f);
}

/// One thread's work: the rows of a leaf.
class LeafSearch {
  static constexpr int leaf = ReducedPatches::leaf, width = ReducedPatches::width;
  using PerPatch = std::array<float, leaf>;

 public:
  LeafSearch(const Search& s, const ReducedPatches& reduced)
      : s_(s), reduced_(reduced), best_(leaf, Best(s.found.neighbours)),
        bound_(std::size_t(reduced.leaves)), queue_(std::size_t(reduced.leaves)) {}

  void search(int index) {
    if (!take_rows(index)) return;
    bound_leaves();
    for (int i = 0; i < reduced_.leaves; ++i) queue_[i] = candidate_key(bound_[i], i);
    const auto first = queue_.begin(),
               near = first + std::min(reduced_.leaves, 2 + 2 * s_.found.neighbours / leaf);
    std::nth_element(first, near - 1, queue_.end());
    std::sort(first, near);
    for (auto at = first; at != near; ++at) visit(key_index(*at));
    const float limit = farthest();
    const auto last = std::partition(
        near, queue_.end(), [&](CandidateKey key) { return !(key_distance(key) > limit); });
    std::sort(near, last);
    for (auto at = near; at != last && !(key_distance(*at) > farthest()); ++at)
      visit(key_index(*at));
    write();
  }

 private:
  /// The rows to search for of a leaf; false where there are none.
  bool take_rows(int index) {
    rows_ = 0;
    const std::int32_t* order = reduced_.order + std::size_t(index) * leaf;
    const float* numbers = reduced_.numbers + std::size_t(index) * leaf * width;
    for (int c = 0; c < reduced_.size_of(index); ++c) {
      if (order[c] < s_.first || order[c] >= s_.first + s_.rows) continue;
      row_[rows_] = order[c];
      values_[rows_] = reduced_.values + (std::size_t(index) * leaf + c) * s_.patches.stride;
      for (int d = 0; d < width; ++d) number_[d][rows_] = numbers[d * leaf + c];
      best_[rows_].clear();
      reach_[rows_++] = std::numeric_limits<float>::infinity();
    }
    for (int r = rows_; r < leaf; ++r) {
      reach_[r] = -std::numeric_limits<float>::infinity();
      for (int d = 0; d < width; ++d) number_[d][r] = number_[d][0];
    }
    return rows_ > 0;
  }

  /// Of every leaf's distance from the box of the rows.
  void bound_leaves() {
    std::fill(bound_.begin(), bound_.end(), 0.0f);
    for (int d = 0; d < width; ++d) {
      const auto [least, most] = std::minmax_element(number_[d].begin(), number_[d].end());
      const float* low = reduced_.low + std::size_t(d) * reduced_.leaves;
      const float* high = reduced_.high + std::size_t(d) * reduced_.leaves;
      const float from = *least, to = *most;
      for (int i = 0; i < reduced_.leaves; ++i) {
        const float apart = gap(from, to, low[i], high[i]);
        bound_[i] = fma_(apart, apart, bound_[i]);
      }
    }
  }

  float farthest() const { return *std::max_element(reach_.begin(), reach_.end()); }

  void visit(int index) {
    const PerPatch bound = bound_rows(index);
    const int least = reduced_.order[std::size_t(index) * leaf];
    for (int r = 0; r < rows_; ++r) {
      if (bound[r] > reach_[r]) continue;
      // Of equal patches the first are kept.
      const CandidateKey worst = best_[r].bound();
      if (key_distance(worst) == 0 && key_index(worst) < least) continue;
      compare(r, index);
    }
  }

  /// Of every row's distance from a leaf's box.
  PerPatch bound_rows(int index) const {
    PerPatch bound{};
    for (int d = 0; d < width; ++d) {
      const float low = reduced_.low[std::size_t(d) * reduced_.leaves + index],
                  high = reduced_.high[std::size_t(d) * reduced_.leaves + index];
      for (int r = 0; r < leaf; ++r) {
        const float apart = gap(number_[d][r], number_[d][r], low, high);
        bound[r] = fma_(apart, apart, bound[r]);
      }
    }
    return bound;
  }

  void compare(int r, int index) {
    const float* numbers = reduced_.numbers + std::size_t(index) * leaf * width;
    PerPatch reduced{};
    for (int d = 0; d < width; ++d)
      for (int c = 0; c < leaf; ++c) {
        const float apart = numbers[d * leaf + c] - number_[d][r];
        reduced[c] = fma_(apart, apart, reduced[c]);
      }
    const int stride = s_.patches.stride;
    const float* values = reduced_.values + std::size_t(index) * leaf * stride;
    const std::int32_t* order = reduced_.order + std::size_t(index) * leaf;
    const int size = reduced_.size_of(index);
    std::array<CandidateKey, leaf> offered;
    int n = 0;
    for (int from = 0; from < size; from += 32) {
      std::uint32_t near = 0;
      for (int c = 0; c < 32; ++c) near |= std::uint32_t(!(reduced[from + c] > reach_[r])) << c;
      if (size - from < 32) near &= (1u << (size - from)) - 1;
      for (; near; near &= near - 1) {
        const int c = from + std::countr_zero(near);
        offered[n++] = candidate_key(
            full_distance(values_[r], values + std::ptrdiff_t(c) * stride, stride), order[c]);
      }
    }
    for (int i = 0; i < n; ++i) best_[r].offer(offered[i]);
    const CandidateKey worst = best_[r].bound();
    if (worst != no_candidate) reach_[r] = reduced_.reach(key_distance(worst));
  }

  void write() const {
    const int m = s_.found.neighbours;
    for (int r = 0; r < rows_; ++r)
      for (int k = 0; k < m; ++k) {
        const CandidateKey key = best_[r].keys()[k];
        const std::size_t at = std::size_t(row_[r] - s_.first) * m + k;
        s_.found.index[at] = key_index(key);
        s_.found.distance[at] = key_distance(key);
      }
  }

  const Search& s_;
  const ReducedPatches& reduced_;
  int rows_ = 0;
  std::array<std::int32_t, leaf> row_{};
  std::array<const float*, leaf> values_{};
  std::array<PerPatch, width> number_{};
  PerPatch reach_{};
  std::vector<Best> best_;
  std::vector<float> bound_;
  std::vector<CandidateKey> queue_;
};

}  // namespace

std::size_t search_scratch(backend::Cpu, SearchStrategy, const PatchView& p, int, int) {
  return ReducedPatches::scratch_bytes(p);
}

void run_search(backend::Cpu cpu, SearchStrategy, const Search& s) {
  const ReducedPatches reduced = ReducedPatches::make(s.patches, s.scratch, cpu.threads);
  int finished = 0;
  ParallelErrors errors;
#pragma omp parallel num_threads(cpu.threads)
  {
    std::optional<LeafSearch> work;
    errors.run([&] { work.emplace(s, reduced); });
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < reduced.leaves; ++i) {
      errors.run([&] { work->search(i); });
#pragma omp critical(freeflow_patch_search)
      errors.run([&] { s.report(double(++finished) / reduced.leaves); });
    }
  }
  errors.rethrow();
}

}  // namespace freeflow
