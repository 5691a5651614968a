// The CUDA launcher of for_each_voxel: blocks of 256 threads with x along the warp. Where the grid
// fills the GPU several times over, a thread goes through a few slices: what a body computes of its
// operands alone is then paid for once (a quarter of a warp's instructions), and the slice that two
// steps of an interpolation share is still in L1.
#pragma once

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/shares.cuh>

namespace freeflow {

/// A body that waits for memory may ask for all the warps a multiprocessor holds, static constexpr
/// int blocks_at_once = 8; else the compiler chooses.
template <class Body>
constexpr int blocks_at_once = 0;
template <class Body>
requires(Body::blocks_at_once > 0) constexpr int blocks_at_once<Body> = Body::blocks_at_once;

template <class Body>
__global__ void __launch_bounds__(256, blocks_at_once<Body>)
    for_each_voxel_kernel(Extent extent, int slices, int first, int last, Body body) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= extent.x || y >= extent.y) return;
  const int begin = first + blockIdx.z * slices, end = min(begin + slices, last);
#pragma unroll 1
  for (int z = begin; z < end; ++z) body(x, y, z);
}

template <class Body>
void for_each_voxel(backend::Cuda cuda, Extent extent, const Body& body) {
  constexpr long long enough_blocks = 8192;  // eight times what the largest GPUs hold at once
  const int width = extent.y == 1 ? 256 : extent.x >= 64 ? 64 : 32;
  const dim3 block(width, 256 / width);
  dim3 grid((extent.x + block.x - 1) / block.x, (extent.y + block.y - 1) / block.y);
  const long long blocks = static_cast<long long>(grid.x) * grid.y * extent.z;
  const int slices =
      std::max<int>(int(std::clamp(blocks / enough_blocks, 1LL, 8LL)), (extent.z + 65534) / 65535);
  const Dealt dealt{unsigned(extent.z), std::size_t(blocks) / unsigned(slices),
                    planes_of_slices<Body>};
  for_each_share(cuda, dealt, [&](const Share& share, int) {
    grid.z = (share.count() + slices - 1) / slices;
    for_each_voxel_kernel<<<grid, block, 0, share.stream>>>(extent, slices, int(share.first),
                                                            int(share.end), body);
  });
}

}  // namespace freeflow
