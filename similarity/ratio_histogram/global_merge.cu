// A private histogram per thread in global memory, no atomics, then a kernel that sums them per bin
// (Li's scheme 2). Words of one bin lie together, so lanes with the same bin touch one line.
// Candidates take turns with the same memory.
#include <freeflow/similarity/ratio_histogram/job.cuh>

namespace freeflow {

namespace {

/// N_i of all bins, then S_i in one or two words; each word for all threads. A thread takes at most
/// 65535 voxels (prepare_ratio).
template <class Voxel>
__global__ void __launch_bounds__(1024)
    global_merge_kernel(ratio::Job<Voxel> job, std::uint32_t* scratch) {
  job.choose_candidate();
  const std::size_t threads = std::size_t(blockDim.x) * gridDim.x,
                    thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint32_t *const n = scratch + thread, *const low = n + job.bins * threads,
                       *const high = low + job.bins * threads;
  ratio::Square<Voxel::wide> square;
  for (unsigned piece = unsigned(thread / 32); piece < job.pieces.count;
       piece += unsigned(threads / 32))
    job.for_piece(piece, [&](const RatioVoxel<Voxel::taps>& v) {
      square.add(v.total(), v.y);
      if (v.bin < 0) return;
      for (int k = 0; k < Voxel::taps; ++k) {
        const std::size_t at = (v.bin + k) * threads;
        const std::uint64_t sum = std::uint64_t(v.mass[k]) * v.y;
        n[at] += v.mass[k];
        low[at] += Voxel::wide ? std::uint32_t(sum & 0xFFFF) : std::uint32_t(sum);
        if constexpr (Voxel::wide) high[at] += std::uint32_t(sum >> 16);
      }
    });
  ratio::add_block_square(square, job.square());
}

/// One block per bin and word.
__global__ void __launch_bounds__(256)
    merge_threads_kernel(std::size_t threads, const std::uint32_t* scratch, int bins,
                         std::uint64_t* sums) {
  __shared__ unsigned long long lanes[32];
  const unsigned word = blockIdx.x / bins, bin = blockIdx.x % bins;  // words: N, S low, S high
  const std::uint32_t* p = scratch + std::size_t(blockIdx.x) * threads;
  unsigned long long v = 0;
  for (std::size_t t = threadIdx.x; t < threads; t += blockDim.x) v += p[t];
  ratio::add_block_sum(word == 2 ? v << 16 : v,
                       reinterpret_cast<unsigned long long*>(sums) + (word ? bins : 0) + bin,
                       lanes);
}

}  // namespace

void ratio_global_merge(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                        std::uint64_t* sums) {
  const std::size_t threads = std::size_t(plan.launch.blocks) * plan.launch.threads;
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    for (int c = 0; c < input.candidates; ++c) {
      RatioInput one = input;
      one.maps = input.maps ? input.maps + c : nullptr;
      std::uint64_t* const result = sums + c * plan.shape.words();
      const int words = voxel.wide ? 3 : 2;
      cuda_check(cudaMemsetAsync(plan.scratch.data(), 0,
                                 words * plan.shape.bins * threads * sizeof(std::uint32_t),
                                 ratio::stream_of(cuda)));
      global_merge_kernel<<<plan.launch.blocks, plan.launch.threads, 0, ratio::stream_of(cuda)>>>(
          ratio::Job(voxel, one, result), plan.scratch.data());
      cuda_check(cudaGetLastError());
      merge_threads_kernel<<<words * plan.shape.bins, 256, 0, ratio::stream_of(cuda)>>>(
          threads, plan.scratch.data(), plan.shape.bins, result);
      cuda_check(cudaGetLastError());
    }
  });
}

}  // namespace freeflow
