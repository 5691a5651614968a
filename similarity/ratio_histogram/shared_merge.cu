// One histogram per block in shared memory; each block stores its own, and a second kernel sums
// them (Li's scheme 3b).
#include <freeflow/similarity/ratio_histogram/shared.cuh>

namespace freeflow {

namespace {

/// One block per word of a candidate's N_i and S_i.
__global__ void __launch_bounds__(256)
    merge_blocks_kernel(int blocks, int words, const unsigned long long* partial,
                        std::uint64_t* sums) {
  __shared__ unsigned long long lanes[32];
  const unsigned word = blockIdx.x;
  const unsigned long long* p = partial + std::size_t(blockIdx.y) * blocks * words + word;
  unsigned long long v = 0;
  for (int b = threadIdx.x; b < blocks; b += blockDim.x) v += p[std::size_t(b) * words];
  ratio::add_block_sum(
      v, reinterpret_cast<unsigned long long*>(sums) + blockIdx.y * std::size_t(words + 2) + word,
      lanes);
}

}  // namespace

void ratio_shared_merge(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                        std::uint64_t* sums) {
  auto* const partial = reinterpret_cast<unsigned long long*>(plan.scratch.data());
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    ratio::launch_shared(cuda, plan, ratio::Job(voxel, input, sums), input.candidates, false,
                         partial);
  });
  const int words = 2 * plan.shape.bins;
  merge_blocks_kernel<<<dim3(words, input.candidates), 256, 0, ratio::stream_of(cuda)>>>(
      plan.launch.blocks, words, partial, sums);
  cuda_check(cudaGetLastError());
}

}  // namespace freeflow
