#include <freeflow/registration/search/displacement_search.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/core/simd_dispatch.h>

namespace freeflow {

namespace {

// The compiler's vectors: a record's sixteen bytes at once.
typedef std::uint8_t Bytes __attribute__((vector_size(16)));
typedef std::int16_t Words __attribute__((vector_size(32)));
typedef std::int32_t Sums __attribute__((vector_size(32)));
typedef std::int32_t Half __attribute__((vector_size(16)));

/// A bit for each channel, and none for the four bytes of `present`.
constexpr Words channel_bits{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 0, 0, 0, 0};

Words words_of(const MindRecord& r) {
  Bytes b;
  std::memcpy(&b, &r, sizeof b);
  return __builtin_convertvector(b, Words);
}

/// Squares, added up by twos: one instruction of x86, which a compiler does not find by itself.
Sums squares_of(Words d) {
#ifdef __AVX2__
  return Sums(__builtin_ia32_pmaddwd256(d, d));
#else
  const Sums low = Sums(d) << 16 >> 16, high = Sums(d) >> 16;
  return low * low + high * high;
#endif
}

std::uint32_t total(const Sums& s) {
  const Half four = Half{s[0], s[1], s[2], s[3]} + Half{s[4], s[5], s[6], s[7]};
  return std::uint32_t((four[0] + four[2]) + (four[1] + four[3]));
}

/// One cell of the CPU.
class CellOnCpu {
 public:
  CellOnCpu(const CellCosts& in, std::size_t c) : in_(in), c_(c) {
    const Extent n = in.cells;
    const int corner[3] = {in.first[0] + in.width * int(c % n.x),
                           in.first[1] + in.width * int(c / n.x % n.y),
                           in.first[2] + in.width * int(c / (std::size_t(n.x) * n.y))};
    for (int i = 0; i < CellCosts::samples; ++i) {
      int at[3];
      in.locate_sample(i, corner, at);
      fixed_[i] = search::record_at(in.fixed, at[0], at[1], at[2]);
      words_[i] = words_of(fixed_[i]);
      present_ &= fixed_[i].present;
      some_ |= fixed_[i].present;
    }
    for (int a = 0; a < 3; ++a) corner_[a] = corner[a] + window_middle(in.middle, n.count(), a, c);
  }

  void compute() {
    const SearchWindow& w = in_.window;
    std::uint32_t row[SearchWindow::largest_count];
    std::uint64_t total = 0, channels = 0;
    int d = 0;
    for (int k = 0; k < w.span(2); ++k)
      for (int j = 0; j < w.span(1); ++j)
        for (int i = 0; i < w.span(0); ++i, ++d) {
          const std::uint32_t e = row[d] =
              entry(corner_[0] + w.offset(0, i), corner_[1] + w.offset(1, j),
                    corner_[2] + w.offset(2, k));
          total += std::uint64_t(e & 65535u) * (e >> 16);
          channels += e >> 16;
        }
    const search::NeutralCost cost = search::NeutralCost::of(total, channels);
    std::uint16_t* out = in_.costs + c_ * std::size_t(d);
    std::uint16_t least = 65535;
    for (int i = 0; i < d; ++i) {
      out[i] = cost(row[i]);
      least = std::min(least, out[i]);
    }
    in_.levels[2 * c_] = cost.mean;
    in_.levels[2 * c_ + 1] = least;
  }

 private:
  /// Of the moved cell that begins at a voxel.
  std::uint32_t entry(int x, int y, int z) const {
    if (some_ == 0) return 0;
    const Extent n = in_.moving.extent;
    const int far = in_.width / CellCosts::along;
    if (present_ == MindRecord::all && x >= 0 && y >= 0 && z >= 0 && x + far < n.x &&
        y + far < n.y && z + far < n.z) {
      const MindRecord* m = &in_.moving(x, y, z);
      const std::size_t steps[3] = {std::size_t(far), std::size_t(far) * n.x,
                                    std::size_t(far) * n.x * n.y};
      std::uint32_t present = MindRecord::all;
      Sums sums{};  // of differences whose last four, of `present`, cancel
#pragma GCC unroll 8
      for (int i = 0; i < CellCosts::samples; ++i) {
        const MindRecord& at =
            m[(i & 1 ? steps[0] : 0) + (i & 2 ? steps[1] : 0) + (i & 4 ? steps[2] : 0)];
        present &= at.present;
        sums += squares_of(words_[i] - words_of(at));
      }
      if (present == MindRecord::all)
        return search::packed({total(sums), CellCosts::samples * MindRecord::count});
    }
    search::Squares s;
    Sums sums{};
    const int corner[3] = {x, y, z};
    for (int i = 0; i < CellCosts::samples; ++i) {
      int at[3];
      in_.locate_sample(i, corner, at);
      const MindRecord m = search::record_at(in_.moving, at[0], at[1], at[2]);
      const std::uint32_t present = fixed_[i].present & m.present;
      if (present == 0) continue;
      const Words both = (Words{} + std::int16_t(present)) & channel_bits;
      sums += squares_of((words_[i] - words_of(m)) & (both != Words{}));
      s.channels += std::uint32_t(std::popcount(present));
    }
    s.sum = total(sums);
    return search::packed(s);
  }

  const CellCosts& in_;
  std::size_t c_;
  MindRecord fixed_[CellCosts::samples];
  Words words_[CellCosts::samples];
  std::uint32_t present_ = MindRecord::all, some_ = 0;
  int corner_[3];
};

/// The choice of one cell on the CPU.
void choose_cell(const CellChoice& in, float price, std::size_t c) {
  const SearchWindow w = in.window;
  const std::size_t cells = in.cells.count();
  float square[3][SearchWindow::largest_span], score[SearchWindow::largest_count];
  int at[3][SearchWindow::largest_span];
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < w.span(a); ++i) {
      at[a][i] = window_middle(in.middle, cells, a, c) + w.offset(a, i);
      square[a][i] = in.square(a, at[a][i], c);
    }
  const int count = w.count(), row = w.span(0);
  const std::uint16_t* costs = in.costs + c * std::size_t(count);
  for (int k = 0, e = 0; k < w.span(2); ++k)
    for (int j = 0; j < w.span(1); ++j, e += row) {
#pragma omp simd
      for (int i = 0; i < row; ++i)
        score[e + i] =
            CellChoice::score(price, square[0][i], square[1][j], square[2][k], costs[e + i]);
    }
  float least = INFINITY;
#pragma omp simd reduction(min : least)
  for (int d = 0; d < count; ++d) least = score[d] < least ? score[d] : least;
  int best[3] = {0, 0, 0}, shortest = -1;
  for (int d = 0; d < count; ++d) {
    if (score[d] != least) continue;
    const int x = at[0][w.index(0, d)], y = at[1][w.index(1, d)], z = at[2][w.index(2, d)],
              length = CellChoice::length(x, y, z);
    if (shortest >= 0 && length >= shortest) continue;
    shortest = length;
    best[0] = x;
    best[1] = y;
    best[2] = z;
  }
  for (int a = 0; a < 3; ++a) in.chosen[std::size_t(a) * cells + c] = float(best[a]);
}

}  // namespace

void compute_cell_costs(backend::Cpu cpu, const CellCosts& in) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(cpu.threads)
  for (std::ptrdiff_t c = 0; c < std::ptrdiff_t(in.cells.count()); ++c)
    simd_dispatch([&] { CellOnCpu(in, std::size_t(c)).compute(); });
}

void choose_cells(backend::Cpu cpu, const CellChoice& in) {
  const float price = in.price();
#pragma omp parallel for schedule(dynamic, 16) num_threads(cpu.threads)
  for (std::ptrdiff_t c = 0; c < std::ptrdiff_t(in.cells.count()); ++c)
    simd_dispatch([&] { choose_cell(in, price, std::size_t(c)); });
}

DisplacementSearch::DisplacementSearch(Context& ctx, const Geometry& cells, int width,
                                       const SearchWindow& window, std::size_t channels)
    : cells_(cells), width_(width), window_(window),
      costs_(ctx, cells.extent.count() * std::size_t(window.count())),
      further_(ctx, channels > 1 ? costs_.size() : 0), levels_(ctx, 2 * cells.extent.count()),
      sums_(ctx, 2), work_(ctx, cells.extent.count(), 2) {}

void DisplacementSearch::compute_costs(Context& ctx, const SearchImages& images,
                                       const float* middle) const {
  double taken = 0;
  for (const SearchChannel& channel : images.channels) {
    const bool first = taken == 0;
    CellCosts in{channel.fixed,
                 channel.moving,
                 cells_.extent,
                 width_,
                 {},
                 window_,
                 middle,
                 first ? costs_.data() : further_.data(),
                 levels_.data()};
    std::copy_n(images.margin, 3, in.first);
    backend::dispatch(ctx, [&](auto target) { compute_cell_costs(target, in); });
    taken += channel.weight;
    if (first) continue;
    const auto share = std::uint32_t(std::lround(65536 * channel.weight / taken));
    for_each_voxel(ctx, cells_.extent,
                   AddChannelCostsBody{cells_.extent, window_.count(), further_.data(),
                                       costs_.data(), levels_.data(), share});
  }
  reduce(ctx, cells_.extent.count(), 2, CostLevelsBody{{}, levels_.data()}, work_, sums_.data());
}

DisplacementField DisplacementSearch::iterate(Context& ctx, const SearchImages& images,
                                              const std::vector<double>& weights,
                                              const float* middle, DisplacementField smooth) const {
  DisplacementField chosen(ctx, cells_);
  CellChoice choice{cells_.extent,     window_, costs_.data(), middle, nullptr, sums_.data(), 0, {},
                    chosen.view().data};
  const double step_mm = window_.step * std::cbrt(images.voxel_mm.prod());
  for (int a = 0; a < 3; ++a) choice.aspect[a] = float(images.voxel_mm[a] / step_mm);
  const auto turn = [&] {
    backend::dispatch(ctx, [&](auto target) { choose_cells(target, choice); });
    for_each_voxel(ctx, cells_.extent,
                   CellMeanBody{{std::as_const(chosen).view(), smooth.view(), 0}});
  };
  if (smooth.empty()) {
    smooth = DisplacementField(ctx, cells_);
    turn();
  }
  choice.smooth = smooth.view().data;
  for (const double weight : weights) {
    choice.weight = weight;
    turn();
  }
  return smooth;
}

DisplacementField DisplacementSearch::run(Context& ctx, const SearchImages& images,
                                          const std::vector<double>& weights) const {
  compute_costs(ctx, images, nullptr);
  return iterate(ctx, images, weights, nullptr, {});
}

DisplacementField DisplacementSearch::refine(Context& ctx, const SearchImages& images,
                                             const std::vector<double>& weights,
                                             DisplacementField about) const {
  DisplacementField middle(ctx, cells_);
  for_each_voxel(ctx, cells_.extent, WholeVoxelsBody{std::as_const(about).view(), middle.view()});
  compute_costs(ctx, images, middle.view().data);
  return iterate(ctx, images, weights, middle.view().data, std::move(about));
}

}  // namespace freeflow
