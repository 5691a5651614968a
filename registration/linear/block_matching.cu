// One thread block per image block, a thread per offset; the region that all offsets share lies in
// shared memory.
#include <freeflow/registration/linear/block_matching_body.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

namespace {

constexpr int threads = 352;  // whole warps for 343 offsets
static_assert(threads >= block::offsets && threads % 32 == 0);

__global__ void __launch_bounds__(threads)
    match_blocks_kernel(BlockMatchInput in, BlockMatch* matches) {
  constexpr int w = block::width, r = block::region;
  __shared__ float region[r * r * r], fixed[block::voxels], score[block::offsets], variation;
  const int *corner = in.corners + 3 * blockIdx.x, x = corner[0], y = corner[1], z = corner[2],
            t = threadIdx.x;
  const float centre = in.warped(x, y, z), level = centre == centre ? centre : 0.0f;
  for (int i = t; i < r * r * r; i += threads)
    region[i] =
        block::region_voxel(in.warped, x + i % r - block::reach, y + i / r % r - block::reach,
                            z + i / (r * r) - block::reach, level);
  const float fixed_level = in.fixed(x, y, z);
  if (t < block::voxels)
    fixed[t] = in.fixed(x + t % w, y + t / w % w, z + t / (w * w)) - fixed_level;
  __syncthreads();
  if (t == 0) {  // in the CPU's order
    float sum = 0, square = 0;
    for (int i = 0; i < block::voxels; ++i) sum += fixed[i];
    const float mean = sum * (1.0f / block::voxels);
    for (int i = 0; i < block::voxels; ++i) {
      fixed[i] -= mean;
      square = fma_(fixed[i], fixed[i], square);
    }
    variation = square;
  }
  __syncthreads();
  if (t < block::offsets) {
    const float* m = region +
                     (t / (block::span * block::span) * r + t / block::span % block::span) * r +
                     t % block::span;
    float product = 0, sum = 0, square = 0;
    for (int k = 0; k < w; ++k) {
      float plane = 0, plane_square = 0;
      for (int j = 0; j < w; ++j) {
        const float* row = m + (k * r + j) * r;
        for (int i = 0; i < w; ++i) product = fma_(fixed[(k * w + j) * w + i], row[i], product);
        const float row_sum = ((row[0] + row[1]) + row[2]) + row[3];
        const float row_square =
            fma_(row[3], row[3], fma_(row[2], row[2], fma_(row[1], row[1], row[0] * row[0])));
        plane = j == 0 ? row_sum : plane + row_sum;
        plane_square = j == 0 ? row_square : plane_square + row_square;
      }
      sum = k == 0 ? plane : sum + plane;
      square = k == 0 ? plane_square : square + plane_square;
    }
    score[t] = block::squared_correlation(variation, product, {sum, square}, in.least_variation);
  }
  __syncthreads();
  if (t >= 32) return;
  int best = t;
  for (int i = t + 32; i < block::offsets; i += 32)
    if (score[i] > score[best]) best = i;
  for (int step = 16; step > 0; step /= 2) {
    const int other = __shfl_down_sync(0xffffffffu, best, step);
    if (score[other] > score[best] || (score[other] == score[best] && other < best)) best = other;
  }
  if (t == 0) matches[blockIdx.x] = block::match_at(score, best);
}

}  // namespace

void match_blocks(backend::Cuda cuda, const BlockMatchInput& in, BlockMatch* matches) {
  if (in.blocks == 0) return;
  match_blocks_kernel<<<in.blocks, threads, 0, static_cast<cudaStream_t>(cuda.stream)>>>(in,
                                                                                         matches);
  cuda_check(cudaGetLastError());
}

template void for_each_voxel(backend::Cuda, Extent, const BlockVarianceBody&);

}  // namespace freeflow
