// A thread block per cell for the costs: what the cell has of the fixed image lies in shared
// memory, a thread goes through some of the displacements by packed bytes. A warp per cell for the
// choice.
#include <freeflow/registration/search/displacement_search_body.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

namespace {

constexpr int threads = 256, cells_per_block = 4;

__device__ void add_record(const MindRecord& f, const MindRecord& m, search::Squares& s) {
  if ((f.present & m.present) != MindRecord::all) return search::add_squares(f, m, s);
  for (int word = 0; word < 3; ++word) {
    const unsigned difference = __vabsdiffu4(f.channels[word], m.channels[word]);
    s.sum = __dp4a(difference, difference, s.sum);
  }
  s.channels += MindRecord::count;
}

__global__ void __launch_bounds__(threads) cell_costs_kernel(CellCosts in) {
  extern __shared__ std::uint32_t row[];  // of the window
  __shared__ MindRecord fixed[CellCosts::samples];
  __shared__ unsigned long long total, channels;
  __shared__ unsigned least;
  const Extent n = in.cells;
  const std::size_t c = blockIdx.x;
  int corner[3] = {in.first[0] + in.width * int(c % n.x),
                   in.first[1] + in.width * int(c / n.x % n.y),
                   in.first[2] + in.width * int(c / (std::size_t(n.x) * n.y))};
  const int t = threadIdx.x, count = in.window.count();
  if (t < CellCosts::samples) {
    int at[3];
    in.locate_sample(t, corner, at);
    fixed[t] = search::record_at(in.fixed, at[0], at[1], at[2]);
  }
  if (t == 0) {
    total = channels = 0;
    least = 65535;
  }
  for (int a = 0; a < 3; ++a) corner[a] += window_middle(in.middle, n.count(), a, c);
  __syncthreads();
  unsigned long long my_total = 0, my_channels = 0;
  for (int d = t; d < count; d += threads) {
    int moved[3];
    for (int a = 0; a < 3; ++a) moved[a] = corner[a] + in.window.offset(a, in.window.index(a, d));
    search::Squares s;
    for (int i = 0; i < CellCosts::samples; ++i) {
      int at[3];
      in.locate_sample(i, moved, at);
      add_record(fixed[i], search::record_at(in.moving, at[0], at[1], at[2]), s);
    }
    const std::uint32_t e = row[d] = search::packed(s);
    my_total += static_cast<unsigned long long>(e & 65535u) * (e >> 16);
    my_channels += e >> 16;
  }
  atomicAdd(&total, my_total);
  atomicAdd(&channels, my_channels);
  __syncthreads();
  const search::NeutralCost cost = search::NeutralCost::of(total, channels);
  std::uint16_t* out = in.costs + c * std::size_t(count);
  unsigned my_least = 65535;
  for (int d = t; d < count; d += threads) {
    const std::uint16_t v = cost(row[d]);
    out[d] = v;
    my_least = min(my_least, unsigned(v));
  }
  atomicMin(&least, my_least);
  __syncthreads();
  if (t == 0) {
    in.levels[2 * c] = cost.mean;
    in.levels[2 * c + 1] = least;
  }
}

__global__ void __launch_bounds__(32 * cells_per_block) choose_cells_kernel(CellChoice in) {
  const std::size_t cells = in.cells.count(),
                    c = std::size_t(blockIdx.x) * cells_per_block + threadIdx.y;
  if (c >= cells) return;
  const SearchWindow w = in.window;
  const int count = w.count();
  const float price = in.price();
  const std::uint16_t* costs = in.costs + c * std::size_t(count);
  const auto position = [&](int axis, int d) {
    return window_middle(in.middle, cells, axis, c) + w.offset(axis, w.index(axis, d));
  };
  float best = INFINITY;
  int shortest = 0, number = count;
  const auto take_better = [&](float score, int length, int d) {
    if (score < best ||
        (score == best && (length < shortest || (length == shortest && d < number)))) {
      best = score;
      shortest = length;
      number = d;
    }
  };
  for (int d = threadIdx.x; d < count; d += 32) {
    const int x = position(0, d), y = position(1, d), z = position(2, d);
    take_better(CellChoice::score(price, in.square(0, x, c), in.square(1, y, c), in.square(2, z, c),
                                  costs[d]),
                CellChoice::length(x, y, z), d);
  }
  for (int step = 16; step > 0; step /= 2) {
    const float score = __shfl_down_sync(0xffffffffu, best, step);
    const int length = __shfl_down_sync(0xffffffffu, shortest, step),
              d = __shfl_down_sync(0xffffffffu, number, step);
    take_better(score, length, d);
  }
  if (threadIdx.x == 0)
    for (int a = 0; a < 3; ++a) in.chosen[std::size_t(a) * cells + c] = float(position(a, number));
}

}  // namespace

void compute_cell_costs(backend::Cuda cuda, const CellCosts& in) {
  cell_costs_kernel<<<unsigned(in.cells.count()), threads,
                      std::size_t(in.window.count()) * sizeof(std::uint32_t),
                      static_cast<cudaStream_t>(cuda.stream)>>>(in);
  cuda_check(cudaGetLastError());
}

void choose_cells(backend::Cuda cuda, const CellChoice& in) {
  const unsigned blocks = unsigned((in.cells.count() + cells_per_block - 1) / cells_per_block);
  choose_cells_kernel<<<blocks, dim3(32, cells_per_block), 0,
                        static_cast<cudaStream_t>(cuda.stream)>>>(in);
  cuda_check(cudaGetLastError());
}

template void reduce(backend::Cuda, std::size_t, int, const CostLevelsBody&, double*, double*);
template void for_each_voxel(backend::Cuda, Extent, const AddChannelCostsBody&);
template void for_each_voxel(backend::Cuda, Extent, const CellMeanBody&);
template void for_each_voxel(backend::Cuda, Extent, const WholeVoxelsBody&);

}  // namespace freeflow
