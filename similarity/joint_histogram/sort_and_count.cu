// Shams 2010, method 3: a block sorts 1024 bin numbers by a bitonic network; when the network
// compares two equal numbers, the one of the higher place takes both counts. After sorting every
// number has one non-zero count, so the threads add them to the block's histogram in global memory
// without conflict or atomic. Weights (3.4): the count is a fixed-point weight, a voxel brings
// several numbers. Bound: 55 compare steps per 1024 numbers, whatever the images; shared memory's
// bandwidth.
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int threads = 512, elements = 2 * threads;

/// A bin number (16 bits) with its count, packed as in the paper's listing 2, but the number on
/// top; or with its weight.
struct PackedCount {
  using Word = std::uint32_t;
  using Partial = std::uint32_t;
  static __device__ Word make(unsigned key, unsigned count) { return key << 16 | count; }
  static __device__ unsigned key(Word w) { return w >> 16; }
  static __device__ unsigned amount(Word w) { return w & 0xFFFF; }
};
struct PackedWeight {
  using Word = std::uint64_t;
  using Partial = std::uint64_t;
  static __device__ Word make(unsigned key, unsigned weight) { return Word(key) << 32 | weight; }
  static __device__ unsigned key(Word w) { return unsigned(w >> 32); }
  static __device__ unsigned amount(Word w) { return unsigned(w); }
};

/// One comparator: puts the smaller number at `low`, or moves the count of an equal one to `high`.
template <class Packed>
__device__ void compare(typename Packed::Word& low, typename Packed::Word& high) {
  const auto a = low, b = high;
  const unsigned ka = Packed::key(a), kb = Packed::key(b);
  if (ka == kb) {
    high = b + Packed::amount(a);
    low = a - Packed::amount(a);
  } else if (ka > kb) {
    low = b;
    high = a;
  }
}

template <class Packed>
__device__ void sort_and_merge(typename Packed::Word* s) {
  for (int size = 2; size <= elements; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int i = threadIdx.x, low = 2 * i - (i & (step - 1)), high = low + step;
      if ((low & size) == 0 || size == elements)
        compare<Packed>(s[low], s[high]);
      else
        compare<Packed>(s[high], s[low]);
    }
  __syncthreads();
}

template <class Packed>
__device__ void add_to_partial(const typename Packed::Word* s, typename Packed::Partial* partial) {
  for (int e = threadIdx.x; e < elements; e += threads)
    if (const unsigned amount = Packed::amount(s[e])) partial[Packed::key(s[e])] += amount;
  __syncthreads();
}

template <class Keys>
__global__ void __launch_bounds__(threads)
    count_kernel(Keys keys, unsigned tiles, HistogramShape shape, std::uint32_t* partial) {
  __shared__ PackedCount::Word s[elements];
  constexpr unsigned per_tile = 32 * Keys::vector, tiles_per_round = elements / per_tile;
  for (unsigned base = blockIdx.x * tiles_per_round; base < tiles;
       base += gridDim.x * tiles_per_round) {
    for (unsigned t = threadIdx.x / 32; t < tiles_per_round; t += threads / 32) {
      unsigned key[Keys::vector];
      for (unsigned& k : key) k = no_key;
      if (base + t < tiles)
        keys.load(base + t, threadIdx.x % 32, {0, unsigned(shape.fixed_bins)}, key);
      for (int k = 0; k < Keys::vector; ++k)
        s[t * per_tile + k * 32 + threadIdx.x % 32] =
            key[k] == no_key ? PackedCount::make(0, 0) : PackedCount::make(key[k], 1);
    }
    sort_and_merge<PackedCount>(s);
    add_to_partial<PackedCount>(s, partial + std::size_t(blockIdx.x) * shape.bins());
  }
}

template <class Masses>
__global__ void __launch_bounds__(threads)
    weigh_kernel(Masses masses, unsigned tiles, HistogramShape shape, std::uint64_t* partial) {
  __shared__ PackedWeight::Word s[elements];
  constexpr unsigned terms = Masses::terms, per_tile = 32 * Masses::vector * terms,
                     tiles_per_round = elements / per_tile;
  for (unsigned base = blockIdx.x * tiles_per_round; base < tiles;
       base += gridDim.x * tiles_per_round) {
    for (unsigned t = threadIdx.x / 32; t < tiles_per_round; t += threads / 32) {
      Mass<terms> mass[Masses::vector];
      for (auto& m : mass) m.counts = false;
      if (base + t < tiles)
        masses.load(base + t, threadIdx.x % 32, {0, unsigned(shape.fixed_bins)}, mass);
      for (int k = 0; k < Masses::vector; ++k)
        for (unsigned i = 0; i < terms; ++i)
          s[t * per_tile + (k * terms + i) * 32 + threadIdx.x % 32] =
              mass[k].counts
                  ? PackedWeight::make(mass[k].row * shape.moving_bins + mass[k].weights.bin[i],
                                       mass[k].weights.weight[i])
                  : PackedWeight::make(0, 0);
    }
    sort_and_merge<PackedWeight>(s);
    add_to_partial<PackedWeight>(s, partial + std::size_t(blockIdx.x) * shape.bins());
  }
}

int copies_of(const HistogramShape& shape) {
  const std::size_t each = shape.bins() * sizeof(std::uint64_t),
                    most = (std::size_t(64) << 20) / each;
  const std::size_t wanted = 4 * std::size_t(DeviceLimits::current().processors);
  return int(most < wanted ? most : wanted);
}

template <class T, class Kernel, class Source>
void launch(backend::Cuda cuda, Kernel kernel, const Source& source, const Counting& c) {
  const int copies = copies_of(c.shape);
  T* partial = reinterpret_cast<T*>(c.scratch);
  cuda_check(cudaMemsetAsync(partial, 0, copies * c.shape.bins() * sizeof(T), stream_of(cuda)));
  kernel<<<copies, threads, 0, stream_of(cuda)>>>(source, source.tiles(), c.shape, partial);
  cuda_check(cudaGetLastError());
  merge_partials(cuda, partial, copies, c.shape.bins(), c.shape.bins(), false, c.histogram);
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
  return copies_of(shape) * shape.bins() * sizeof(std::uint64_t);
}

}  // namespace

const CudaScheme sort_and_count_scheme{scratch, count};

}  // namespace freeflow
