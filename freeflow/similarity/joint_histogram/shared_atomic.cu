// One 32-bit histogram per block in shared memory, native atomics; every block stores its histogram and a second kernel adds
// them up (a tenth of the cost of flushing by global atomics). Adding the constant 1 compiles to an atomic that counts
// the lanes of a warp that hit one word, so a constant image costs no more than a random one; packing two bins a word for
// 256 x 256, as METHODS.md has it, loses that (142 us against 70 on a 512x512x296 pair). A histogram larger than a
// block's shared memory is shared out instead: some blocks count the upper rows, some the lower, side by side, so that the second
// reading comes from L2.
// Weights: a 32-bit bin holds 65535 voxels' mass of 65536; blocks move theirs to 64-bit partials before that. Where a
// whole warp holds the same row and value (background), one lane adds for all: weighted additions to one word serialise.
// Bound: the images read once; or, for weights, the shared atomics (4 or 8 per voxel).
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int most_partials = 2;  // per multiprocessor

/// How the rows are shared out and how many blocks count each share.
struct Plan {
  int threads, rows, shares, copies;
  std::size_t shared_bytes;

  Plan(const HistogramShape& shape, int threads_per_block) : threads(threads_per_block) {
    const DeviceLimits limits = DeviceLimits::current();
    const int row_bytes = shape.moving_bins * 4, most_rows = limits.shared_per_block / row_bytes;
    shares = (shape.fixed_bins + most_rows - 1) / most_rows;
    rows = (shape.fixed_bins + shares - 1) / shares;
    shared_bytes = std::size_t(rows) * row_bytes;
    const std::size_t reserved = 1024;  // per block, by the driver
    const int fit = int(limits.shared_per_processor / (shared_bytes + reserved));
    const int resident = fit < 2048 / threads ? fit : 2048 / threads;
    const int per_processor = resident < most_partials ? (resident < 1 ? 1 : resident) : most_partials;
    copies = per_processor * limits.processors / shares;
  }
  dim3 grid() const { return dim3(shares, copies); }
};

__device__ Rows rows_of_block(int rows, int fixed_bins) {
  const unsigned first = blockIdx.x * rows;
  return {first, unsigned(rows) < fixed_bins - first ? unsigned(rows) : fixed_bins - first};
}

template <class Keys, int threads>
__global__ void __launch_bounds__(threads) count_kernel(Keys keys, unsigned tiles, int rows, HistogramShape shape, std::uint32_t* partial) {
  extern __shared__ unsigned bins[];
  const Rows mine = rows_of_block(rows, shape.fixed_bins);
  const unsigned size = mine.count * shape.moving_bins, first = mine.first * shape.moving_bins;
  for (unsigned i = threadIdx.x; i < size; i += threads) bins[i] = 0;
  __syncthreads();
  constexpr unsigned warps = threads / 32;
  for (unsigned tile = blockIdx.y * warps + threadIdx.x / 32; tile < tiles; tile += gridDim.y * warps) {
    unsigned key[Keys::vector];
    keys.load(tile, threadIdx.x % 32, mine, key);
#pragma unroll
    for (int k = 0; k < Keys::vector; ++k)
      if (key[k] - first < size) atomicAdd(bins + (key[k] - first), 1u);
  }
  __syncthreads();
  std::uint32_t* out = partial + std::size_t(blockIdx.y) * shape.bins() + first;
  for (unsigned i = threadIdx.x; i < size; i += threads) out[i] = bins[i];
}

template <int terms>
__device__ void add_mass(unsigned* bins, const Mass<terms>& mass, Rows mine, int moving_bins) {
  const unsigned counting = __ballot_sync(~0u, mass.counts);
  if (!mass.counts) return;
  int same_value, same_row;
  __match_all_sync(counting, mass.signature, &same_value);
  __match_all_sync(counting, mass.row, &same_row);
  const bool alone = !(same_value && same_row) || mass.signature == Mass<terms>::unique;
  if (!alone && int(threadIdx.x % 32) != __ffs(counting) - 1) return;
  const unsigned times = alone ? 1u : __popc(counting);
  unsigned* row = bins + (mass.row - mine.first) * moving_bins;
#pragma unroll
  for (int k = 0; k < terms; ++k)
    if (mass.weights.weight[k]) atomicAdd(row + mass.weights.bin[k], times * mass.weights.weight[k]);
}

template <class Masses, int threads>
__global__ void __launch_bounds__(threads, 1)
    weigh_kernel(Masses masses, unsigned tiles, int rows, HistogramShape shape, std::uint64_t* partial) {
  extern __shared__ unsigned bins[];
  const Rows mine = rows_of_block(rows, shape.fixed_bins);
  const unsigned size = mine.count * shape.moving_bins;
  std::uint64_t* out = partial + std::size_t(blockIdx.y) * shape.bins() + std::size_t(mine.first) * shape.moving_bins;
  for (unsigned i = threadIdx.x; i < size; i += threads) bins[i] = 0, out[i] = 0;
  __syncthreads();
  constexpr unsigned warps = threads / 32, most_rounds = 65535 / (threads * Masses::vector);
  unsigned rounds = 0;
  for (unsigned base = blockIdx.y * warps; base < tiles; base += gridDim.y * warps) {
    const unsigned tile = base + threadIdx.x / 32;
    if (tile < tiles) {
      Mass<Masses::terms> mass[Masses::vector];
      masses.load(tile, threadIdx.x % 32, mine, mass);
#pragma unroll
      for (int k = 0; k < Masses::vector; ++k) add_mass(bins, mass[k], mine, shape.moving_bins);
    }
    if (++rounds < most_rounds) continue;
    rounds = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size; i += threads) out[i] += bins[i], bins[i] = 0;
    __syncthreads();
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += threads) out[i] += bins[i];
}

template <class Kernel, class Source, class T>
void launch(backend::Cuda cuda, Kernel kernel, const Plan& plan, const Source& source, const Counting& c, T* partial) {
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(plan.shared_bytes)));
  kernel<<<plan.grid(), plan.threads, plan.shared_bytes, stream_of(cuda)>>>(source, source.tiles(), plan.rows, c.shape, partial);
  cuda_check(cudaGetLastError());
  merge_partials(cuda, partial, plan.copies, c.shape.bins(), c.shape.bins(), false, c.histogram);
}

void count(backend::Cuda cuda, const Counting& c) {
  if (c.shape.estimator == Estimator::hard)
    with_keys(c, [&]<class Keys>(const Keys& keys) {
      constexpr int threads = Keys::vector > 1 ? 1024 : 512;  // sampling takes more registers than 1024 threads leave
      launch(cuda, count_kernel<Keys, threads>, Plan(c.shape, threads), keys, c, reinterpret_cast<std::uint32_t*>(c.scratch));
    });
  else
    with_masses(
        c, [&]<class Masses>(const Masses& masses) { launch(cuda, weigh_kernel<Masses, 512>, Plan(c.shape, 512), masses, c, c.scratch); });
}

std::size_t scratch(const HistogramShape& shape, std::size_t) {
  const std::size_t each = shape.bins() * (shape.estimator == Estimator::hard ? sizeof(std::uint32_t) : sizeof(std::uint64_t));
  return each * std::size_t(most_partials * DeviceLimits::current().processors);
}

}  // namespace

const CudaScheme shared_atomic_scheme{scratch, count};

}  // namespace freeflow
