// Shams 2010, method 2: every thread owns a histogram in shared memory, its bins packed into b
// bits; a bin that fills up moves to the thread's 32-bit histogram in global memory; in the end all
// are added up. No two threads ever touch one word. The paper's b = s_max * 32 / (B * N_b), s_max
// words of shared memory, N_b threads; rounded down to a power of two here, so that no bin
// straddles words. Where b would fall below 4, the rows are covered in passes.
// Bound: clearing and adding up N_b * blocks histograms in global memory.
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int threads = 64;

struct Plan {
  int rows, passes, bits, blocks;
  std::size_t shared_bytes;

  explicit Plan(const HistogramShape& shape) {
    const DeviceLimits limits = DeviceLimits::current();
    const int words = (limits.shared_per_block - 1024) / 4, most_bins = words * 32 / (threads * 4);
    const int most_rows = most_bins / shape.moving_bins;
    passes = (shape.fixed_bins + most_rows - 1) / most_rows;
    rows = (shape.fixed_bins + passes - 1) / passes;
    bits = 32;
    while (bits > 4 && words_for(shape, bits) > words) bits /= 2;
    shared_bytes = std::size_t(words_for(shape, bits)) * 4;
    blocks = limits.processors;
  }
  int words_for(const HistogramShape& shape, int b) const {
    return (rows * shape.moving_bins * b + 31) / 32 * threads;
  }
};

template <class Keys>
__global__ void __launch_bounds__(threads)
    count_kernel(Keys keys, unsigned tiles, Rows mine, int moving_bins, int bits,
                 std::uint32_t* overflow) {
  extern __shared__ unsigned
      packed[];  // word w of thread t at packed[w * threads + t]: no bank conflicts
  const unsigned size = mine.count * moving_bins, first = mine.first * moving_bins,
                 per_word = 32 / bits;
  const unsigned words = (size + per_word - 1) / per_word,
                 full = bits == 32 ? ~0u : (1u << bits) - 1;
  unsigned* own = packed + threadIdx.x;
  const std::size_t everyone = std::size_t(gridDim.x) * threads,
                    me = std::size_t(blockIdx.x) * threads + threadIdx.x;
  for (unsigned w = 0; w < words; ++w) own[w * threads] = 0;
  for (unsigned tile = blockIdx.x * (threads / 32) + threadIdx.x / 32; tile < tiles;
       tile += gridDim.x * (threads / 32)) {
    unsigned key[Keys::vector];
    keys.load(tile, threadIdx.x % 32, mine, key);
    for (int k = 0; k < Keys::vector; ++k) {
      const unsigned bin = key[k] - first;
      if (key[k] == no_key || bin >= size) continue;
      unsigned& word = own[bin / per_word * threads];
      const unsigned shift = bin % per_word * bits, value = (word >> shift & full) + 1;
      if (value == full) {
        overflow[bin * everyone + me] += full;
        word &= ~(full << shift);
      } else {
        word += 1u << shift;
      }
    }
  }
  for (unsigned bin = 0; bin < size; ++bin) {
    const unsigned value = own[bin / per_word * threads] >> (bin % per_word * bits) & full;
    if (value) overflow[bin * everyone + me] += value;
  }
}

/// A block adds up all threads' counts of a bin.
__global__ void __launch_bounds__(256)
    sum_kernel(const std::uint32_t* overflow, std::size_t everyone, std::uint64_t* histogram) {
  __shared__ std::uint64_t sums[8];
  std::uint64_t sum = 0;
  for (std::size_t i = threadIdx.x; i < everyone; i += 256)
    sum += overflow[blockIdx.x * everyone + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < 8; ++w) sum += sums[w];
  histogram[blockIdx.x] = sum;
}

void count(backend::Cuda cuda, const Counting& c) {
  with_keys(c, [&]<class Keys>(const Keys& keys) {
    const Plan plan(c.shape);
    const auto overflow = reinterpret_cast<std::uint32_t*>(c.scratch);
    const std::size_t everyone = std::size_t(plan.blocks) * threads;
    allow_shared_memory(count_kernel<Keys>);
    for (int first = 0; first < c.shape.fixed_bins; first += plan.rows) {
      const Rows pass{unsigned(first), unsigned(std::min(plan.rows, c.shape.fixed_bins - first))};
      const std::size_t bins = std::size_t(pass.count) * c.shape.moving_bins;
      cuda_check(
          cudaMemsetAsync(overflow, 0, bins * everyone * sizeof(std::uint32_t), stream_of(cuda)));
      count_kernel<<<plan.blocks, threads, plan.shared_bytes, stream_of(cuda)>>>(
          keys, keys.tiles(), pass, c.shape.moving_bins, plan.bits, overflow);
      cuda_check(cudaGetLastError());
      sum_kernel<<<unsigned(bins), 256, 0, stream_of(cuda)>>>(
          overflow, everyone, c.histogram + std::size_t(first) * c.shape.moving_bins);
      cuda_check(cudaGetLastError());
    }
  });
}

std::size_t scratch(const HistogramShape& shape, std::size_t) {
  const Plan plan(shape);
  return std::size_t(plan.blocks) * threads * plan.rows * shape.moving_bins * sizeof(std::uint32_t);
}

}  // namespace

const CudaScheme thread_private_scheme{scratch, count};

}  // namespace freeflow
