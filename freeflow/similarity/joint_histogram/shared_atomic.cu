// One 32-bit histogram per block in shared memory, native atomics, then one 64-bit addition per touched bin to the result.
// A block takes at most 65535 voxels of mass 65536, so 32 bits cannot overflow. Where a whole warp holds the same pair of
// values (background), one lane adds for all: without that, the hottest bin would serialise the warp.
// A histogram larger than a block's shared memory (more than 240 x 240 on Hopper) is counted in passes over ranges of
// fixed bins.
// Bound: 6 bytes read per voxel, or 4 shared atomics per voxel (parzen).
#include <freeflow/core/cuda_check.h>
#include <freeflow/similarity/joint_histogram/parzen_body.h>
#include <freeflow/similarity/joint_histogram/schemes.h>

namespace freeflow {

namespace {

constexpr int threads = 1024;
constexpr std::size_t most_voxels_per_block = 65535;

__device__ void add_parzen(unsigned* row, float b, int moving_bins, unsigned times) {
  const ParzenWeights p = parzen_weights(b, moving_bins);
  for (int k = 0; k < 4; ++k)
    if (p.w[k]) atomicAdd(row + p.first + k, times * unsigned(p.w[k]));
}

template <Estimator estimator>
__global__ void __launch_bounds__(threads)
    count_kernel(HistogramInput input, int first_row, int rows, int moving_bins, std::size_t per_block, unsigned long long* histogram) {
  extern __shared__ unsigned bins[];
  const int size = rows * moving_bins;
  for (int i = threadIdx.x; i < size; i += threads) bins[i] = 0;
  __syncthreads();

  const std::size_t begin = blockIdx.x * per_block;
  const std::size_t end = begin + per_block < input.count ? begin + per_block : input.count;
  for (std::size_t base = begin; base < end; base += threads) {
    const std::size_t i = base + threadIdx.x;
    const unsigned present = __ballot_sync(~0u, i < end);
    if (i >= end) continue;
    const float b = input.warped[i];
    const unsigned fixed = input.fixed_bin[i] - unsigned(first_row);  // no_bin and other passes' rows are beyond the last
    int same_value, same_bin;
    __match_all_sync(present, __float_as_uint(b), &same_value);
    __match_all_sync(present, fixed, &same_bin);
    if (fixed >= unsigned(rows) || b != b) continue;
    const bool alone = !(same_value && same_bin);
    const bool leader = int(threadIdx.x & 31) == __ffs(present) - 1;
    if (!alone && !leader) continue;
    const unsigned times = alone ? 1u : __popc(present);
    unsigned* row = bins + fixed * moving_bins;
    if constexpr (estimator == Estimator::hard)
      atomicAdd(row + hard_bin(b, moving_bins), times);
    else
      add_parzen(row, b, moving_bins, times);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += threads)
    if (bins[i]) atomicAdd(histogram + std::size_t(first_row) * moving_bins + i, static_cast<unsigned long long>(bins[i]));
}

template <Estimator estimator>
void launch(backend::Cuda cuda, const HistogramShape& shape, const HistogramInput& input, std::uint64_t* histogram) {
  int device, processors, most_shared;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  cuda_check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const int row_bytes = shape.moving_bins * int(sizeof(unsigned));
  const int rows_per_pass = shape.fixed_bins < most_shared / row_bytes ? shape.fixed_bins : most_shared / row_bytes;
  const int bytes = rows_per_pass * row_bytes;
  if (bytes > 48 * 1024) cuda_check(cudaFuncSetAttribute(count_kernel<estimator>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const std::size_t wanted = (input.count + 2 * processors - 1) / (2 * processors);
  std::size_t per_block = wanted < most_voxels_per_block ? wanted : most_voxels_per_block;
  per_block = (per_block + threads - 1) / threads * threads;
  if (per_block > most_voxels_per_block) per_block -= threads;
  const auto blocks = unsigned((input.count + per_block - 1) / per_block);
  for (int row = 0; row < shape.fixed_bins; row += rows_per_pass) {
    const int rows = shape.fixed_bins - row < rows_per_pass ? shape.fixed_bins - row : rows_per_pass;
    count_kernel<estimator><<<blocks, threads, bytes, static_cast<cudaStream_t>(cuda.stream)>>>(
        input, row, rows, shape.moving_bins, per_block, reinterpret_cast<unsigned long long*>(histogram));
    cuda_check(cudaGetLastError());
  }
}

}  // namespace

void joint_histogram_shared_atomic(backend::Cuda cuda, const HistogramShape& shape, const HistogramInput& input, std::uint64_t* histogram) {
  if (input.count == 0) return;
  if (shape.estimator == Estimator::hard)
    launch<Estimator::hard>(cuda, shape, input, histogram);
  else
    launch<Estimator::parzen>(cuda, shape, input, histogram);
}

}  // namespace freeflow
