// Shams 2010, method 1: one histogram per warp in shared memory. What does not fit is covered in
// passes over the rows, all the input read in each. Passes run side by side (grid.x), so that they
// share L2. The 5-bit tags of the paper, which simulated atomics within a warp, are today's native
// atomics.
// Bound: passes times the reading of the images.
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int warps = 8, threads = 32 * warps, blocks_per_processor = 2;

struct Plan {
  int rows, passes, copies;
  std::size_t shared_bytes;

  explicit Plan(const HistogramShape& shape) {
    const DeviceLimits limits = DeviceLimits::current();
    const int room = limits.shared_per_processor / blocks_per_processor - 1024,
              row_bytes = warps * shape.moving_bins * 4;
    const int most_rows = room / row_bytes > 1 ? room / row_bytes : 1;
    passes = (shape.fixed_bins + most_rows - 1) / most_rows;
    rows = (shape.fixed_bins + passes - 1) / passes;
    shared_bytes = std::size_t(rows) * row_bytes;
    copies = blocks_per_processor * limits.processors;
  }
};

/// Adds the warps' histograms to the block's partial, and clears them.
template <class T>
__device__ void flush(unsigned* bins, unsigned size, T* out) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += threads) {
    T sum = 0;
    for (int w = 0; w < warps; ++w) {
      sum += bins[w * size + i];
      bins[w * size + i] = 0;
    }
    out[i] += sum;
  }
  __syncthreads();
}

template <class Keys>
__global__ void __launch_bounds__(threads)
    count_kernel(Keys keys, unsigned tiles, int rows, HistogramShape shape,
                 std::uint32_t* partial) {
  extern __shared__ unsigned bins[];
  const Rows mine{blockIdx.x * unsigned(rows), unsigned(rows)};
  const unsigned size = rows * shape.moving_bins, first = mine.first * shape.moving_bins;
  for (unsigned i = threadIdx.x; i < warps * size; i += threads) bins[i] = 0;
  __syncthreads();
  unsigned* own = bins + threadIdx.x / 32 * size;
  for (unsigned tile = blockIdx.y * warps + threadIdx.x / 32; tile < tiles;
       tile += gridDim.y * warps) {
    unsigned key[Keys::vector];
    keys.load(tile, threadIdx.x % 32, mine, key);
#pragma unroll
    for (int k = 0; k < Keys::vector; ++k)
      if (key[k] != no_key && key[k] - first < size) atomicAdd(own + (key[k] - first), 1u);
  }
  flush(bins, size, partial + (std::size_t(blockIdx.y) * gridDim.x + blockIdx.x) * size);
}

template <class Masses>
__global__ void __launch_bounds__(threads)
    weigh_kernel(Masses masses, unsigned tiles, int rows, HistogramShape shape,
                 std::uint64_t* partial) {
  extern __shared__ unsigned bins[];
  const Rows mine{blockIdx.x * unsigned(rows), unsigned(rows)};
  const unsigned size = rows * shape.moving_bins;
  for (unsigned i = threadIdx.x; i < warps * size; i += threads) bins[i] = 0;
  __syncthreads();
  std::uint64_t* out = partial + (std::size_t(blockIdx.y) * gridDim.x + blockIdx.x) * size;
  unsigned* own = bins + threadIdx.x / 32 * size;
  // of a warp, until a 32-bit bin may be full
  constexpr unsigned most_rounds = 65535 / (32 * Masses::vector);
  unsigned rounds = 0;
  for (unsigned base = blockIdx.y * warps; base < tiles; base += gridDim.y * warps) {
    const unsigned tile = base + threadIdx.x / 32;
    if (tile < tiles) {
      Mass<Masses::terms> mass[Masses::vector];
      masses.load(tile, threadIdx.x % 32, mine, mass);
      for (int k = 0; k < Masses::vector; ++k)
        if (mass[k].counts)
          for (int t = 0; t < Masses::terms; ++t)
            if (mass[k].weights.weight[t])
              atomicAdd(
                  own + (mass[k].row - mine.first) * shape.moving_bins + mass[k].weights.bin[t],
                  mass[k].weights.weight[t]);
    }
    if (++rounds < most_rounds) continue;
    rounds = 0;
    flush(bins, size, out);
  }
  flush(bins, size, out);
}

/// The passes' rows follow each other in a partial, padded to whole passes.
template <class T, class Kernel, class Source>
void launch(backend::Cuda cuda, Kernel kernel, const Source& source, const Counting& c) {
  const Plan plan(c.shape);
  const std::size_t padded = std::size_t(plan.passes) * plan.rows * c.shape.moving_bins;
  cuda_check(cudaMemsetAsync(c.scratch, 0, plan.copies * padded * sizeof(T), stream_of(cuda)));
  allow_shared_memory(kernel);
  T* partial = reinterpret_cast<T*>(c.scratch);
  kernel<<<dim3(plan.passes, plan.copies), threads, plan.shared_bytes, stream_of(cuda)>>>(
      source, source.tiles(), plan.rows, c.shape, partial);
  cuda_check(cudaGetLastError());
  merge_partials(cuda, partial, plan.copies, padded, c.shape.bins(), false, c.histogram);
}

void count(backend::Cuda cuda, const Counting& c) {
  if (c.shape.estimator == Estimator::hard)
    with_keys(c, [&]<class Keys>(const Keys& keys) {
      launch<std::uint32_t>(cuda, count_kernel<Keys>, keys, c);
    });
  else
    with_masses(c, [&]<class Masses>(const Masses& masses) {
      launch<std::uint64_t>(cuda, weigh_kernel<Masses>, masses, c);
    });
}

std::size_t scratch(const HistogramShape& shape, std::size_t) {
  const Plan plan(shape);
  const std::size_t each =
      shape.estimator == Estimator::hard ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  return std::size_t(plan.copies) * plan.passes * plan.rows * shape.moving_bins * each;
}

}  // namespace

const CudaScheme warp_private_scheme{scratch, count};

}  // namespace freeflow
