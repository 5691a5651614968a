// Ikeda 2014, kernels 2 and 3: bins of 8 bits, four to a word, in a band around the diagonal in
// shared memory; bins off the band are counted in global memory. A bin that overflows goes to
// global memory: alone (banded_flush, kernel 3), or with the whole histogram (banded, kernel 2).
// Bound: atomics that return a value serialise on a hot bin.
#include <freeflow/similarity/joint_histogram/packed_bins.cuh>
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int threads = 512, blocks_per_processor = 2;

/// The band: at fixed bin f the moving bins [start(f), start(f) + width). Ikeda's 176 of 256 bins.
struct Band {
  int fixed_bins, moving_bins, width;

  explicit Band(const HistogramShape& shape)
      : fixed_bins(shape.fixed_bins), moving_bins(shape.moving_bins),
        width((shape.moving_bins * 176 / 256 + 3) / 4 * 4) {}
  __device__ int start(unsigned f) const {
    return int((2 * f + 1) * moving_bins / (2 * fixed_bins)) - width / 2;
  }
  __device__ unsigned words() const { return unsigned(fixed_bins * width / 4); }
  std::size_t bytes() const { return std::size_t(fixed_bins) * width; }
};

using Count = unsigned long long;

/// Adds to a bin of the band in global memory; places beyond the histogram have no voxels.
__device__ void spill(const Band& band, unsigned place, Count amount, Count* histogram) {
  const unsigned f = place / band.width, m = unsigned(band.start(f) + int(place % band.width));
  atomicAdd(histogram + std::size_t(f) * band.moving_bins + m, amount);
}

__device__ void flush(unsigned* words, const Band& band, Count* histogram) {
  for (unsigned w = threadIdx.x; w < band.words(); w += threads) {
    const unsigned word = words[w];
    for (unsigned k = 0; k < 4; ++k)
      if (word >> (8 * k) & 255) spill(band, 4 * w + k, word >> (8 * k) & 255, histogram);
    words[w] = 0;
  }
}

template <class Keys, bool whole>
__global__ void __launch_bounds__(threads)
    count_kernel(Keys keys, unsigned tiles, Band band, Count* histogram) {
  extern __shared__ unsigned words[];
  for (unsigned w = threadIdx.x; w < band.words(); w += threads) words[w] = 0;
  __syncthreads();
  for (unsigned base = blockIdx.x * (threads / 32); base < tiles;
       base += gridDim.x * (threads / 32)) {
    const unsigned tile = base + threadIdx.x / 32;
    bool overflow = false;
    if (tile < tiles) {
      unsigned key[Keys::vector];
      keys.load(tile, threadIdx.x % 32, {0, unsigned(band.fixed_bins)}, key);
      for (int k = 0; k < Keys::vector; ++k) {
        if (key[k] == no_key) continue;
        const unsigned f = key[k] / band.moving_bins,
                       at = key[k] % band.moving_bins - unsigned(band.start(f));
        if (at < unsigned(band.width))
          overflow |= add_packed<8>(words, f * band.width + at, 1, [&](unsigned place, Count n) {
            spill(band, place, n, histogram);
          });
        else
          atomicAdd(histogram + key[k], Count(1));
      }
    }
    if constexpr (whole) {
      if (!__syncthreads_or(overflow)) continue;
      flush(words, band, histogram);
      __syncthreads();
    }
  }
  __syncthreads();
  flush(words, band, histogram);
}

template <bool whole>
void count(backend::Cuda cuda, const Counting& c) {
  cuda_check(
      cudaMemsetAsync(c.histogram, 0, c.shape.bins() * sizeof(std::uint64_t), stream_of(cuda)));
  with_keys(c, [&]<class Keys>(const Keys& keys) {
    const Band band(c.shape);
    const auto kernel = count_kernel<Keys, whole>;
    allow_shared_memory(kernel);
    kernel<<<blocks_per_processor * DeviceLimits::current().processors, threads, band.bytes(),
             stream_of(cuda)>>>(keys, keys.tiles(), band, reinterpret_cast<Count*>(c.histogram));
    cuda_check(cudaGetLastError());
  });
}

std::size_t scratch(const HistogramShape&, std::size_t) { return 0; }

}  // namespace

const CudaScheme banded_scheme{scratch, count<true>};
const CudaScheme banded_flush_scheme{scratch, count<false>};

}  // namespace freeflow
