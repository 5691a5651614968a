// One 32-bit histogram per block in shared memory, native atomics; every block stores its histogram
// and a second kernel adds them up (a tenth of the cost of flushing by global atomics). Adding the
// constant 1 compiles to an atomic that counts the lanes of a warp that hit one word, so a constant
// image costs no more than a random one. Packing two bins a word for 256 x 256, as METHODS.md has
// it, loses that: real brains of 512x512x296 took 142 us, and 135 us with packed bins for the
// brightest rows only. A histogram larger than a block's shared memory is shared out instead: some
// blocks count the upper rows, some the lower, side by side, so that the second reading comes from
// L2 (88 us).
// Weights: a 32-bit bin holds 65535 voxels' mass of 65536; blocks move theirs to 64-bit partials
// before that. Where a whole warp holds the same row and value (background), one lane adds for all:
// weighted additions to one word serialise. Bound: the images read once; or the shared atomics,
// about 4 cycles per warp each (twice as many where two blocks share the rows, 4 or 8 per voxel for
// weights).
#include <algorithm>

#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int most_partials = 2;  // per multiprocessor

/// How the rows are shared out and how many blocks count each share.
struct Plan {
  int threads, rows, shares, copies;
  std::size_t shared_bytes;

  Plan(const HistogramShape& shape, int threads_per_block, std::size_t count)
      : threads(threads_per_block) {
    const DeviceLimits limits = DeviceLimits::current();
    const int row_bytes = shape.moving_bins * 4, most_rows = limits.shared_per_block / row_bytes;
    shares = (shape.fixed_bins + most_rows - 1) / most_rows;
    rows = (shape.fixed_bins + shares - 1) / shares;
    shared_bytes = std::size_t(rows) * row_bytes;
    const std::size_t reserved = 1024;  // per block, by the driver
    const int fit = int(limits.shared_per_processor / (shared_bytes + reserved));
    const int resident = fit < 2048 / threads ? fit : 2048 / threads;
    const int per_processor =
        resident < most_partials ? (resident < 1 ? 1 : resident) : most_partials;
    copies = useful(per_processor * limits.processors / shares, count);
  }
  dim3 grid() const { return dim3(shares, copies); }
  /// A block for fewer than 1024 voxels costs more to add up than it saves.
  static int useful(int blocks, std::size_t count) {
    const std::size_t most = (count + 1023) / 1024;
    return most < std::size_t(blocks) ? int(most) : blocks;
  }
};

/// The tiles that one GPU counts.
struct Tiles {
  unsigned begin, end;
};

__device__ Rows rows_of_block(int rows, int fixed_bins) {
  const unsigned first = blockIdx.x * rows;
  return {first, unsigned(rows) < fixed_bins - first ? unsigned(rows) : fixed_bins - first};
}

/// Bit 7 of every byte of `word` that is `bins` or more.
__device__ unsigned beyond(unsigned word, unsigned bins) {
  constexpr unsigned low = 0x7F7F7F7F, high = 0x80808080, ones = 0x01010101;
  if (bins >= 256) return 0;
  const unsigned carried = (word & low) + (bins <= 128 ? 128 - bins : 256 - bins) * ones;
  return (bins <= 128 ? carried | word : carried & word) & high;
}

/// Bytes need next to no arithmetic. A row of bins is 256 >> shift words, so that a voxel's two
/// bytes side by side, the moving one shifted up, are its byte offset but for a factor: per voxel
/// one and a half instructions and the atomic. Where two blocks share 256 rows, the upper one flips
/// the fixed byte's top bit, and what is then above 127 is the other's. Values beyond the bins are
/// looked for in four voxels at a time; where there are any, the lane's voxels are checked one by
/// one.
template <int shift, bool two_shares>
struct ByteCounter {
  static constexpr unsigned width = 256 >> shift, threads = 1024;
  BinnedPair pair;
  unsigned fixed_bins, moving_bins;
  unsigned* bins;
  unsigned flip;  // 128 in the upper share

  __device__ void add(unsigned key) const {
    if (!two_shares || key < 0x8000)
      atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(bins) + (key << (2 - shift))),
                1u);
  }
  __device__ void add_checked(unsigned f, unsigned m) const {
    if (f < fixed_bins && m < moving_bins) add((f ^ flip) << 8 | m << shift);
  }
  __device__ void add_sixteen(uint4 f4, uint4 m4) const {
    const unsigned f[4] = {f4.x, f4.y, f4.z, f4.w}, m[4] = {m4.x, m4.y, m4.z, m4.w};
    unsigned bad = 0;
#pragma unroll
    for (int w = 0; w < 4; ++w) bad |= beyond(f[w], fixed_bins) | beyond(m[w], moving_bins);
    if (bad) {
      for (int k = 0; k < 16; ++k)
        add_checked(f[k / 4] >> (8 * (k % 4)) & 255, m[k / 4] >> (8 * (k % 4)) & 255);
      return;
    }
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const unsigned upper = f[w] ^ flip * 0x01010101u, lower = m[w] << shift;
      const unsigned first = __byte_perm(lower, upper, 0x5140),
                     second = __byte_perm(lower, upper, 0x7362);
      add(first & 0xFFFF);
      add(first >> 16);
      add(second & 0xFFFF);
      add(second >> 16);
    }
  }
};

template <int shift, bool two_shares>
__global__ void __launch_bounds__(1024, shift == 0 ? 1 : 2)
    count_bytes_kernel(BinnedPair pair, HistogramShape shape, std::uint32_t* partial) {
  extern __shared__ unsigned bins[];
  using Counter = ByteCounter<shift, two_shares>;
  constexpr unsigned threads = Counter::threads, width = Counter::width;
  const unsigned first = two_shares ? blockIdx.x * 128 : 0, fixed_bins = shape.fixed_bins,
                 moving_bins = shape.moving_bins;
  const unsigned rows = two_shares ? min(128u, fixed_bins - first) : fixed_bins;
  for (unsigned i = threadIdx.x; i < rows * width; i += threads) bins[i] = 0;
  __syncthreads();
  const Counter counter{pair, fixed_bins, moving_bins, bins, first};
  const unsigned quads = unsigned(pair.count / 16), stride = gridDim.y * threads;
  const uint4 *fixed = reinterpret_cast<const uint4*>(pair.fixed),
              *moving = reinterpret_cast<const uint4*>(pair.moving);
  for (unsigned i = blockIdx.y * threads + threadIdx.x; i < quads;) {
    if constexpr (shift == 0) {  // one block a multiprocessor: two loads in flight per thread
      const unsigned j = i + stride;
      const uint4 f = fixed[i], m = moving[i];
      uint4 f2, m2;
      if (j < quads) f2 = fixed[j], m2 = moving[j];
      counter.add_sixteen(f, m);
      if (j < quads) counter.add_sixteen(f2, m2);
      i = j + stride;
    } else {
      counter.add_sixteen(__ldcs(fixed + i), __ldcs(moving + i));
      i += stride;
    }
  }
  if (blockIdx.y == 0 && threadIdx.x < pair.count % 16)
    counter.add_checked(pair.fixed[16 * std::size_t(quads) + threadIdx.x],
                        pair.moving[16 * std::size_t(quads) + threadIdx.x]);
  __syncthreads();
  std::uint32_t* out =
      partial + std::size_t(blockIdx.y) * shape.bins() + std::size_t(first) * moving_bins;
  for (unsigned row = threadIdx.x / 32; row < rows; row += threads / 32)
    for (unsigned m = threadIdx.x % 32; m < moving_bins; m += 32)
      out[row * moving_bins + m] = bins[row * width + m];
}

template <class Keys, int threads>
__global__ void __launch_bounds__(threads, most_partials)
    count_kernel(Keys keys, Tiles tiles, int rows, HistogramShape shape, std::uint32_t* partial) {
  extern __shared__ unsigned bins[];
  const Rows mine = rows_of_block(rows, shape.fixed_bins);
  const unsigned size = mine.count * shape.moving_bins, first = mine.first * shape.moving_bins;
  for (unsigned i = threadIdx.x; i < size; i += threads) bins[i] = 0;
  __syncthreads();
  constexpr unsigned warps = threads / 32;
  for (unsigned tile = tiles.begin + blockIdx.y * warps + threadIdx.x / 32; tile < tiles.end;
       tile += gridDim.y * warps) {
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
    if (mass.weights.weight[k])
      atomicAdd(row + mass.weights.bin[k], times * mass.weights.weight[k]);
}

template <class Masses, int threads>
__global__ void __launch_bounds__(threads, 1)
    weigh_kernel(Masses masses, Tiles tiles, int rows, HistogramShape shape,
                 std::uint64_t* partial) {
  extern __shared__ unsigned bins[];
  const Rows mine = rows_of_block(rows, shape.fixed_bins);
  const unsigned size = mine.count * shape.moving_bins;
  std::uint64_t* out = partial + std::size_t(blockIdx.y) * shape.bins() +
                       std::size_t(mine.first) * shape.moving_bins;
  for (unsigned i = threadIdx.x; i < size; i += threads) bins[i] = 0, out[i] = 0;
  __syncthreads();
  constexpr unsigned warps = threads / 32, most_rounds = 65535 / (threads * Masses::vector);
  unsigned rounds = 0;
  for (unsigned base = tiles.begin + blockIdx.y * warps; base < tiles.end;
       base += gridDim.y * warps) {
    const unsigned tile = base + threadIdx.x / 32;
    if (tile < tiles.end) {
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
void launch(backend::Cuda cuda, Kernel kernel, const Plan& plan, const Source& source,
            const Counting& c, T* partial) {
  constexpr unsigned each = 256;  // tiles that stay together
  const unsigned tiles = source.tiles(), groups = (tiles + each - 1) / each;
  const std::size_t blocks = std::size_t(tiles) * Source::vector / 64;  // of 2048 voxels each
  int copies = 0;
  for_each_share(cuda, {groups, blocks}, [&](const Share& share, int gpu) {
    const std::size_t before = std::size_t(gpu) * plan.copies * c.shape.bins();
    allow_shared_memory(kernel);
    kernel<<<plan.grid(), plan.threads, plan.shared_bytes, share.stream>>>(
        source, Tiles{share.first * each, std::min(share.end * each, tiles)}, plan.rows, c.shape,
        partial + before);
    copies += plan.copies;
  });
  merge_partials(cuda, partial, copies, c.shape.bins(), c.shape.bins(), false, c.histogram);
}

template <int shift, bool two_shares>
void launch_bytes(backend::Cuda cuda, const Counting& c, const BinnedPair& pair) {
  const DeviceLimits limits = DeviceLimits::current();
  const auto kernel = count_bytes_kernel<shift, two_shares>;
  const int rows = two_shares ? 128 : c.shape.fixed_bins, bytes = rows * (256 >> shift) * 4;
  const bool two_blocks = shift > 0 && 2 * (bytes + 1024) <= limits.shared_per_processor;
  const int copies = Plan::useful(
      two_shares ? limits.processors / 2 : limits.processors * (two_blocks ? 2 : 1), pair.count);
  allow_shared_memory(kernel);
  const auto partial = reinterpret_cast<std::uint32_t*>(c.scratch);
  kernel<<<dim3(two_shares ? 2 : 1, copies), 1024, bytes, stream_of(cuda)>>>(pair, c.shape,
                                                                             partial);
  cuda_check(cudaGetLastError());
  merge_partials(cuda, partial, copies, c.shape.bins(), c.shape.bins(), false, c.histogram);
}

/// False where the bytes do not lie on 16-byte boundaries.
bool count_bytes(backend::Cuda cuda, const Counting& c) {
  const auto* pair = std::get_if<BinnedPair>(&c.input);
  if (!pair || (reinterpret_cast<std::uintptr_t>(pair->fixed) |
                reinterpret_cast<std::uintptr_t>(pair->moving)) %
                       16 !=
                   0)
    return false;
  if (c.shape.moving_bins <= 64)
    launch_bytes<2, false>(cuda, c, *pair);
  else if (c.shape.moving_bins <= 128)
    launch_bytes<1, false>(cuda, c, *pair);
  else if (c.shape.fixed_bins * 1024 <= DeviceLimits::current().shared_per_block)
    launch_bytes<0, false>(cuda, c, *pair);
  else
    launch_bytes<0, true>(cuda, c, *pair);
  return true;
}

void count(backend::Cuda cuda, const Counting& c) {
  if (count_bytes(cuda, c)) return;
  if (c.shape.estimator == Estimator::hard)
    with_keys(c, [&]<class Keys>(const Keys& keys) {
      // sampling takes more registers than 1024 threads leave
      constexpr int threads = Keys::vector > 1 ? 1024 : 768;
      launch(cuda, count_kernel<Keys, threads>, Plan(c.shape, threads, count_of(c.input)), keys, c,
             reinterpret_cast<std::uint32_t*>(c.scratch));
    });
  else
    with_masses(c, [&]<class Masses>(const Masses& masses) {
      // Sampling leaves 1024 threads no registers; but a histogram that leaves room for one block
      // only gets a large one.
      const Plan plan(c.shape, 512, count_of(c.input));
      if (Masses::samples && plan.shared_bytes <= 100 * 1024)
        launch(cuda, weigh_kernel<Masses, 512>, plan, masses, c, c.scratch);
      else
        launch(cuda, weigh_kernel<Masses, 1024>, Plan(c.shape, 1024, count_of(c.input)), masses, c,
               c.scratch);
    });
}

std::size_t scratch(const HistogramShape& shape, std::size_t max_count) {
  const std::size_t each =
      shape.bins() *
      (shape.estimator == Estimator::hard ? sizeof(std::uint32_t) : sizeof(std::uint64_t));
  return each *
         std::size_t(Plan::useful(most_partials * DeviceLimits::current().processors, max_count));
}

}  // namespace

const CudaScheme shared_atomic_scheme{scratch, count};

}  // namespace freeflow
