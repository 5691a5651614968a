// Ledig 2010: two bins share a 32-bit word (MBE), one histogram per warp in shared memory, passes
// over the rows; a warp's bins are moved to the block's partial before one can overflow. The 5-bit
// tags that simulated atomics are gone, so a bin has 16 bits instead of 13. Two ways to spare the
// passes after the first the sampling:
//   multi_bin_cache  the first pass keeps each voxel's bin number, 16 bits (BC)
//   multi_bin_skip   a voxel whose fixed bin lies outside the pass is skipped before the moving
//                    image is read (STL, eq. 6)
// Bound: passes times the reading of the bin numbers (or of the images).
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
              row_bytes = warps * shape.moving_bins * 2;
    const int most_rows = (room - warps * 4) / row_bytes > 1 ? (room - warps * 4) / row_bytes : 1;
    passes = (shape.fixed_bins + most_rows - 1) / most_rows;
    rows = (shape.fixed_bins + passes - 1) / passes;
    shared_bytes = std::size_t(warps) * 4 * ((rows * shape.moving_bins + 1) / 2);
    copies = blocks_per_processor * limits.processors;
  }
};

/// The bin numbers that the first pass kept, eight to a lane.
struct CachedKeys {
  static constexpr int vector = 8;
  const std::uint16_t* key;
  std::size_t count;
  bool aligned;

  CachedKeys(const std::uint16_t* k, std::size_t n)
      : key(k), count(n), aligned(reinterpret_cast<std::uintptr_t>(k) % 16 == 0) {}
  unsigned tiles() const { return tiles_of(count, vector); }
  __device__ void load(unsigned tile, int lane, Rows, unsigned (&out)[vector]) const {
    const std::size_t i = (std::size_t(tile) * 32 + lane) * vector;
    if (aligned && i + vector <= count) {
      const uint4 v = *reinterpret_cast<const uint4*>(key + i);
      const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int k = 0; k < vector; ++k) out[k] = words[k / 2] >> (16 * (k % 2)) & 0xFFFF;
      return;
    }
    for (int k = 0; k < vector; ++k) out[k] = i + k < count ? key[i + k] : no_key;
  }
};

/// Moves a warp's bins to the block's partial. Its warps share that, hence the atomics.
__device__ void flush_warp(unsigned* own, unsigned size, std::uint32_t* out) {
  __syncwarp();
  for (unsigned w = threadIdx.x % 32; w < (size + 1) / 2; w += 32) {
    const unsigned word = own[w];
    if (word & 0xFFFF) atomicAdd(out + 2 * w, word & 0xFFFF);
    if (word >> 16) atomicAdd(out + 2 * w + 1, word >> 16);
    own[w] = 0;
  }
  __syncwarp();
}

/// keep: null, or where to keep the bin numbers. A voxel that does not count is kept as bin 0,
/// which only the first pass counts.
template <class Keys>
__global__ void __launch_bounds__(threads)
    count_kernel(Keys keys, unsigned tiles, Rows mine, Rows sampled, HistogramShape shape,
                 std::uint32_t* partial, std::uint16_t* keep, std::size_t kept) {
  extern __shared__ unsigned words[];
  const unsigned size = mine.count * shape.moving_bins, first = mine.first * shape.moving_bins,
                 each = (size + 1) / 2;
  unsigned* own = words + threadIdx.x / 32 * each;
  for (unsigned w = threadIdx.x % 32; w < each; w += 32) own[w] = 0;
  __syncwarp();
  std::uint32_t* out = partial + std::size_t(blockIdx.x) * shape.bins() + first;
  constexpr unsigned most_rounds = 65535 / (32 * Keys::vector);
  unsigned rounds = 0;
  for (unsigned tile = blockIdx.x * warps + threadIdx.x / 32; tile < tiles;
       tile += gridDim.x * warps) {
    unsigned key[Keys::vector];
    keys.load(tile, threadIdx.x % 32, sampled, key);
#pragma unroll
    for (int k = 0; k < Keys::vector; ++k) {
      const unsigned bin = key[k] - first;
      if (key[k] != no_key && bin < size) atomicAdd(own + bin / 2, 1u << (16 * (bin % 2)));
    }
    if constexpr (requires { keys.index(tile, 0, 0); }) {
      if (keep)
        for (int k = 0; k < Keys::vector; ++k)
          if (const std::size_t i = keys.index(tile, threadIdx.x % 32, k); i < kept)
            keep[i] = key[k] == no_key ? 0 : std::uint16_t(key[k]);
    }
    if (++rounds < most_rounds) continue;
    rounds = 0;
    flush_warp(own, size, out);
  }
  flush_warp(own, size, out);
}

std::size_t partial_bytes(const Plan& plan, const HistogramShape& shape) {
  return (plan.copies * shape.bins() * sizeof(std::uint32_t) + 15) / 16 * 16;
}

template <class Keys>
void run_pass(backend::Cuda cuda, const Plan& plan, const Keys& keys, Rows pass, Rows sampled,
              const Counting& c, std::uint16_t* keep) {
  allow_shared_memory(count_kernel<Keys>);
  count_kernel<<<plan.copies, threads, plan.shared_bytes, stream_of(cuda)>>>(
      keys, keys.tiles(), pass, sampled, c.shape, reinterpret_cast<std::uint32_t*>(c.scratch), keep,
      count_of(c.input));
  cuda_check(cudaGetLastError());
}

template <bool cache>
void count(backend::Cuda cuda, const Counting& c) {
  with_keys(c, [&]<class Keys>(const Keys& keys) {
    const Plan plan(c.shape);
    const auto partial = reinterpret_cast<std::uint32_t*>(c.scratch);
    const auto kept = reinterpret_cast<std::uint16_t*>(reinterpret_cast<char*>(c.scratch) +
                                                       partial_bytes(plan, c.shape));
    cuda_check(cudaMemsetAsync(partial, 0, plan.copies * c.shape.bins() * sizeof(std::uint32_t),
                               stream_of(cuda)));
    const Rows all{0, unsigned(c.shape.fixed_bins)};
    for (int first = 0; first < c.shape.fixed_bins; first += plan.rows) {
      const Rows pass{unsigned(first), unsigned(std::min(plan.rows, c.shape.fixed_bins - first))};
      if (!cache || plan.passes == 1)
        run_pass(cuda, plan, keys, pass, pass, c, nullptr);
      else if (first == 0)
        run_pass(cuda, plan, keys, pass, all, c, kept);
      else
        run_pass(cuda, plan, CachedKeys(kept, count_of(c.input)), pass, all, c, nullptr);
    }
    merge_partials(cuda, partial, plan.copies, c.shape.bins(), c.shape.bins(), false, c.histogram);
  });
}

template <bool cache>
std::size_t scratch(const HistogramShape& shape, std::size_t max_count) {
  const Plan plan(shape);
  return partial_bytes(plan, shape) +
         (cache && plan.passes > 1 ? max_count * sizeof(std::uint16_t) : 0);
}

}  // namespace

const CudaScheme multi_bin_cache_scheme{scratch<true>, count<true>};
const CudaScheme multi_bin_skip_scheme{scratch<false>, count<false>};

}  // namespace freeflow
