// Every voxel adds to the result in global memory with 64-bit atomics (Li's scheme 1). Only Q goes
// through registers.
#include <freeflow/similarity/ratio_histogram/job.cuh>

namespace freeflow {

namespace {

template <class Voxel>
struct GlobalCounters {
  const ratio::Job<Voxel>& job;
  template <class Sum>
  __device__ void add(int bin, std::uint32_t mass, Sum sum) const {
    atomicAdd(job.count(bin), static_cast<unsigned long long>(mass));
    if (sum) atomicAdd(job.sum(bin), static_cast<unsigned long long>(sum));
  }
};

template <class Voxel>
__global__ void __launch_bounds__(1024) global_atomic_kernel(ratio::Job<Voxel> job) {
  job.choose_candidate();
  const unsigned warps = blockDim.x / 32 * gridDim.x,
                 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  ratio::Square<Voxel::wide> square;
  for (unsigned piece = warp; piece < job.pieces.count; piece += warps)
    job.for_piece(piece, [&](const RatioVoxel<Voxel::taps>& v) {
      square.add(v.total(), v.y);
      ratio::add_warp<Voxel::wide>(GlobalCounters<Voxel>{job}, v);
    });
  ratio::add_block_square(square, job.square());
}

}  // namespace

void ratio_global_atomic(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                         std::uint64_t* sums) {
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    global_atomic_kernel<<<dim3(plan.launch.blocks, input.candidates), plan.launch.threads, 0,
                           ratio::stream_of(cuda)>>>(ratio::Job(voxel, input, sums));
    cuda_check(cudaGetLastError());
  });
}

}  // namespace freeflow
