// A GPU counts a candidate with several blocks, each into a histogram in shared memory; integers,
// so the sums are those of the CPU. blockIdx.y is the candidate.
#include <freeflow/similarity/candidate_scores_body.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

namespace {

constexpr int threads = 256, voxels_per_block = 8192;

__global__ void __launch_bounds__(threads)
    count_candidates_kernel(CandidateInput in, int bins, std::uint32_t* histograms) {
  extern __shared__ std::uint32_t shared[];
  const int size = bins * bins;
  for (int i = threadIdx.x; i < size; i += threads) shared[i] = 0;
  __syncthreads();
  const Extent n = in.fixed_bin.extent;
  const unsigned count = unsigned(n.count()), begin = blockIdx.x * voxels_per_block;
  const unsigned end = min(begin + voxels_per_block, count), width = unsigned(n.x);
  const PointMap map = in.maps[blockIdx.y];
  for (unsigned i = begin + threadIdx.x; i < end; i += threads) {
    const int row = int(i / width),
              bin = candidate_bin(in, map, bins, int(i % width), row % n.y, row / n.y);
    if (bin >= 0) atomicAdd(shared + bin, 1u);
  }
  __syncthreads();
  std::uint32_t* h = histograms + std::size_t(blockIdx.y) * size;
  for (int i = threadIdx.x; i < size; i += threads)
    if (shared[i]) atomicAdd(h + i, shared[i]);
}

}  // namespace

void count_candidates(backend::Cuda cuda, const CandidateInput& in, int bins,
                      std::uint32_t* histograms) {
  const auto stream = static_cast<cudaStream_t>(cuda.stream);
  const std::size_t bytes = std::size_t(bins) * bins * sizeof(std::uint32_t);
  cuda_check(cudaMemsetAsync(histograms, 0, bytes * std::size_t(in.candidates), stream));
  const int blocks = int((in.fixed_bin.extent.count() + voxels_per_block - 1) / voxels_per_block);
  count_candidates_kernel<<<dim3(blocks, in.candidates), threads, bytes, stream>>>(in, bins,
                                                                                   histograms);
  cuda_check(cudaGetLastError());
}

template void for_each_voxel(backend::Cuda, Extent, const CandidateTermsBody&);
template void for_each_voxel(backend::Cuda, Extent, const CandidateCostBody&);

}  // namespace freeflow
