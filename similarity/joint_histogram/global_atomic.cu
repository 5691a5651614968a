// One histogram per block in global memory, updated by atomics, then added up. As many blocks as
// fit the processors, fewer where their histograms would take more than 64 MiB.
// Bound: the atomics of L2, which serialise on a hot bin.
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

constexpr int threads = 512;

template <class T>
int copies_of(const HistogramShape& shape) {
  const std::size_t most = (std::size_t(64) << 20) / (shape.bins() * sizeof(T)),
                    wanted = 4 * std::size_t(DeviceLimits::current().processors);
  return int(most < wanted ? most : wanted);
}

__device__ Rows all_rows(const HistogramShape& shape) { return {0, unsigned(shape.fixed_bins)}; }

template <class Keys>
__global__ void __launch_bounds__(threads)
    count_kernel(Keys keys, unsigned tiles, HistogramShape shape, std::uint32_t* partial) {
  std::uint32_t* bins = partial + std::size_t(blockIdx.x) * shape.bins();
  for (unsigned tile = blockIdx.x * (threads / 32) + threadIdx.x / 32; tile < tiles;
       tile += gridDim.x * (threads / 32)) {
    unsigned key[Keys::vector];
    keys.load(tile, threadIdx.x % 32, all_rows(shape), key);
#pragma unroll
    for (int k = 0; k < Keys::vector; ++k)
      if (key[k] != no_key) atomicAdd(bins + key[k], 1u);
  }
}

template <class Masses>
__global__ void __launch_bounds__(threads)
    weigh_kernel(Masses masses, unsigned tiles, HistogramShape shape, unsigned long long* partial) {
  unsigned long long* bins = partial + std::size_t(blockIdx.x) * shape.bins();
  for (unsigned tile = blockIdx.x * (threads / 32) + threadIdx.x / 32; tile < tiles;
       tile += gridDim.x * (threads / 32)) {
    Mass<Masses::terms> mass[Masses::vector];
    masses.load(tile, threadIdx.x % 32, all_rows(shape), mass);
    for (int k = 0; k < Masses::vector; ++k)
      if (mass[k].counts)
        for (int t = 0; t < Masses::terms; ++t)
          if (mass[k].weights.weight[t])
            atomicAdd(bins + mass[k].row * shape.moving_bins + mass[k].weights.bin[t],
                      mass[k].weights.weight[t]);
  }
}

template <class T, class Launch>
void count_into(backend::Cuda cuda, const Counting& c, const Launch& launch) {
  const int copies = copies_of<T>(c.shape);
  cuda_check(cudaMemsetAsync(c.scratch, 0, copies * c.shape.bins() * sizeof(T), stream_of(cuda)));
  launch(copies);
  cuda_check(cudaGetLastError());
  merge_partials(cuda, reinterpret_cast<const T*>(c.scratch), copies, c.shape.bins(),
                 c.shape.bins(), false, c.histogram);
}

void count(backend::Cuda cuda, const Counting& c) {
  if (c.shape.estimator == Estimator::hard)
    with_keys(c, [&]<class Keys>(const Keys& keys) {
      count_into<std::uint32_t>(cuda, c, [&](int copies) {
        count_kernel<<<copies, threads, 0, stream_of(cuda)>>>(
            keys, keys.tiles(), c.shape, reinterpret_cast<std::uint32_t*>(c.scratch));
      });
    });
  else
    with_masses(c, [&]<class Masses>(const Masses& masses) {
      count_into<std::uint64_t>(cuda, c, [&](int copies) {
        weigh_kernel<<<copies, threads, 0, stream_of(cuda)>>>(
            masses, masses.tiles(), c.shape, reinterpret_cast<unsigned long long*>(c.scratch));
      });
    });
}

std::size_t scratch(const HistogramShape& shape, std::size_t) {
  return shape.estimator == Estimator::hard
             ? copies_of<std::uint32_t>(shape) * shape.bins() * sizeof(std::uint32_t)
             : copies_of<std::uint64_t>(shape) * shape.bins() * sizeof(std::uint64_t);
}

}  // namespace

const CudaScheme global_atomic_scheme{scratch, count};

}  // namespace freeflow
