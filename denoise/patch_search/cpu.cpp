// The CPU's search: panels of 16 patches, interleaved, against 6 rows in vector registers; blocks
// of rows stay in a core's second cache while the panels go by. |b|^2 - 2ab and a bound on its
// rounding choose, the exact distance decides, as in tiled.cu. One panel in eight comes first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/denoise/patch_search/distance_body.h>
#include <freeflow/denoise/patch_search/strategies.h>
#include <freeflow/denoise/patch_search/tiled_filter_body.h>

namespace freeflow {

namespace {

constexpr int panel = 16, unit = 6, block = 32 * unit, sample = 8;

int panels_of(int count) { return (count + panel - 1) / panel; }

/// products[r * panel + c] = row r times column c.
void multiply(const float* rows, int stride, const float* columns, int length, float* products) {
  float sum[unit][panel] = {};
  for (int k = 0; k < length; ++k) {
#pragma GCC unroll 6
    for (int r = 0; r < unit; ++r) {
      const float value = rows[std::ptrdiff_t(r) * stride + k];
#pragma GCC unroll 1
      for (int c = 0; c < panel; ++c)
        sum[r][c] = fma_(value, columns[std::ptrdiff_t(k) * panel + c], sum[r][c]);
    }
  }
  for (int r = 0; r < unit; ++r)
    for (int c = 0; c < panel; ++c) products[r * panel + c] = sum[r][c];
}

float squared_norm(const float* patch, int length) {
  double sum = 0;
  for (int k = 0; k < length; ++k) sum += double(patch[k]) * patch[k];
  return float(sum);
}

/// The patches as panels and their squared norms, in scratch.
struct Panels {
  const float* interleaved;  // per panel: length x 16
  const float* norm;         // infinity past the end
  float max_norm;
};

Panels make_panels(const PatchView& p, std::byte* scratch, int threads) {
  const int n = panels_of(p.count);
  auto* interleaved = reinterpret_cast<float*>(scratch);
  float* norm = interleaved + std::size_t(n) * panel * p.length;
  float max_norm = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : max_norm)
  for (int i = 0; i < n; ++i) {
    float* out = interleaved + std::size_t(i) * panel * p.length;
    for (int c = 0; c < panel; ++c) {
      const int column = i * panel + c;
      const float* patch = p.values + std::size_t(std::min(column, p.count - 1)) * p.stride;
      for (int k = 0; k < p.length; ++k) out[k * panel + c] = patch[k];
      norm[column] =
          column < p.count ? squared_norm(patch, p.length) : std::numeric_limits<float>::infinity();
      if (column < p.count) max_norm = std::max(max_norm, norm[column]);
    }
  }
  return {interleaved, norm, max_norm};
}

/// The m best of one row so far, ascending.
class Best {
 public:
  explicit Best(int m) : keys_(std::size_t(m), no_candidate) {}
  void clear() { std::fill(keys_.begin(), keys_.end(), no_candidate); }
  CandidateKey bound() const { return keys_.back(); }
  void offer(CandidateKey key) {
    if (key >= bound()) return;
    const auto place = std::lower_bound(keys_.begin(), keys_.end(), key);
    std::copy_backward(place, keys_.end() - 1, keys_.end());
    *place = key;
  }
  const std::vector<CandidateKey>& keys() const { return keys_; }

 private:
  std::vector<CandidateKey> keys_;
};

/// One thread's work: all panels against a block of rows.
class RowBlock {
 public:
  RowBlock(const Search& s, const Panels& panels)
      : s_(s), panels_(panels), best_(block, Best(s.found.neighbours)), cutoff_(block),
        norm_(block) {}

  void search(int begin, int end) {
    begin_ = begin;
    rows_ = end - begin;
    const PatchView& p = s_.patches;
    padded_.assign(std::size_t(block) * p.length, 0.0f);
    for (int r = 0; r < block; ++r) {
      best_[r].clear();
      cutoff_[r] =
          r < rows_ ? std::numeric_limits<float>::max() : -std::numeric_limits<float>::infinity();
      if (r >= rows_) continue;
      const float* patch = p.values + std::size_t(begin + r) * p.stride;
      std::copy(patch, patch + p.length, padded_.begin() + std::ptrdiff_t(r) * p.length);
      norm_[r] = squared_norm(patch, p.length);
    }
    const int n = panels_of(p.count);
    for (int i = 0; i < n; i += sample) visit(i, false);
    for (int i = 0; i < n; ++i)
      if (i % sample != 0) visit(i, true);
    write();
  }

 private:
  void visit(int index, bool in_order) {
    const int length = s_.patches.length;
    const float* columns = panels_.interleaved + std::size_t(index) * panel * length;
    const float* norm = panels_.norm + std::size_t(index) * panel;
    float product[unit * panel];
    for (int r = 0; r < rows_; r += unit) {
      multiply(padded_.data() + std::ptrdiff_t(r) * length, length, columns, length, product);
      for (int u = 0; u < unit; ++u) {
        const float limit = cutoff_[r + u];
        unsigned hits = 0;
        for (int c = 0; c < panel; ++c)
          hits |= unsigned(norm[c] - 2 * product[u * panel + c] <= limit) << c;
        if (hits) consider(r + u, index, hits, in_order);
      }
    }
  }

  void consider(int row, int index, unsigned hits, bool in_order) {
    const PatchView& p = s_.patches;
    const float* patch = p.values + std::size_t(begin_ + row) * p.stride;
    const CandidateKey before = best_[row].bound();
    for (int c = 0; c < panel; ++c) {
      if (!(hits >> c & 1)) continue;
      const int column = index * panel + c;
      best_[row].offer(candidate_key(
          patch_distance(patch, p.values + std::size_t(column) * p.stride, p.stride), column));
    }
    const CandidateKey bound = best_[row].bound();
    if (bound == no_candidate || (bound == before && key_distance(bound) != 0)) return;
    const bool settled =
        in_order && key_distance(bound) == 0 && key_index(bound) < (index + 1) * panel;
    cutoff_[row] = settled ? -std::numeric_limits<float>::infinity()
                           : TiledFilter::cutoff(key_distance(bound), norm_[row], 0,
                                                 panels_.max_norm, 0, p.length * 0x1p-24f);
  }

  void write() const {
    const int m = s_.found.neighbours;
    for (int r = 0; r < rows_; ++r)
      for (int k = 0; k < m; ++k) {
        const CandidateKey key = best_[r].keys()[k];
        const std::size_t at = std::size_t(begin_ - s_.first + r) * m + k;
        s_.found.index[at] = key_index(key);
        s_.found.distance[at] = key_distance(key);
      }
  }

  const Search& s_;
  const Panels& panels_;
  std::vector<Best> best_;
  std::vector<float> cutoff_, norm_, padded_;
  int begin_ = 0, rows_ = 0;
};

}  // namespace

std::size_t search_scratch(backend::Cpu, SearchStrategy, const PatchView& p, int, int) {
  return sizeof(float) * std::size_t(panels_of(p.count)) * panel * (p.length + 1);
}

void run_search(backend::Cpu cpu, SearchStrategy, const Search& s) {
  const Panels panels = make_panels(s.patches, s.scratch, cpu.threads);
  const int blocks = (s.rows + block - 1) / block;
  int finished = 0;
  ParallelErrors errors;
#pragma omp parallel num_threads(cpu.threads)
  {
    std::optional<RowBlock> work;
    errors.run([&] { work.emplace(s, panels); });
#pragma omp for schedule(dynamic, 1)
    for (int b = 0; b < blocks; ++b) {
      const int begin = s.first + b * block;
      errors.run([&] { work->search(begin, std::min(begin + block, s.first + s.rows)); });
#pragma omp critical(freeflow_patch_search)
      errors.run([&] { s.report(double(++finished) / blocks); });
    }
  }
  errors.rethrow();
}

}  // namespace freeflow
