// Partial histograms to one. A block takes 32 neighbouring bins, its eight rows of threads share
// the copies.
#include <freeflow/similarity/joint_histogram/samples.cuh>

namespace freeflow {

namespace {

template <class T>
__global__ void __launch_bounds__(256)
    merge_kernel(const T* partial, int copies, std::size_t stride, std::size_t bins, bool add,
                 std::uint64_t* histogram) {
  __shared__ std::uint64_t sums[8][32];
  const std::size_t bin = std::size_t(blockIdx.x) * 32 + threadIdx.x;
  std::uint64_t sum = 0;
  if (bin < bins)
#pragma unroll 4
    for (int copy = threadIdx.y; copy < copies; copy += 8) sum += partial[copy * stride + bin];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || bin >= bins) return;
  for (int k = 1; k < 8; ++k) sum += sums[k][threadIdx.x];
  histogram[bin] = add ? histogram[bin] + sum : sum;
}

template <class T>
void launch(backend::Cuda cuda, const T* partial, int copies, std::size_t stride, std::size_t bins,
            bool add, std::uint64_t* histogram) {
  merge_kernel<<<unsigned((bins + 31) / 32), dim3(32, 8), 0, stream_of(cuda)>>>(
      partial, copies, stride, bins, add, histogram);
  cuda_check(cudaGetLastError());
}

}  // namespace

void merge_partials(backend::Cuda cuda, const std::uint32_t* partial, int copies,
                    std::size_t stride, std::size_t bins, bool add, std::uint64_t* histogram) {
  launch(cuda, partial, copies, stride, bins, add, histogram);
}
void merge_partials(backend::Cuda cuda, const std::uint64_t* partial, int copies,
                    std::size_t stride, std::size_t bins, bool add, std::uint64_t* histogram) {
  launch(cuda, partial, copies, stride, bins, add, histogram);
}

}  // namespace freeflow
