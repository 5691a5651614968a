// Private: the CUDA launcher of for_each_voxel: blocks of 256 threads, one voxel each, x along the warp.
#pragma once

#include <freeflow/core/cuda_check.h>
#include <freeflow/core/for_each_voxel.h>

namespace freeflow {

template <class Body>
__global__ void __launch_bounds__(256) for_each_voxel_kernel(Extent extent, Body body) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= extent.x || y >= extent.y) return;
  for (int z = blockIdx.z; z < extent.z; z += gridDim.z) body(x, y, z);
}

template <class Body>
void for_each_voxel(backend::Cuda cuda, Extent extent, const Body& body) {
  const int width = extent.y == 1 ? 256 : extent.x >= 64 ? 64 : 32;
  const dim3 block(width, 256 / width);
  const dim3 grid((extent.x + block.x - 1) / block.x, (extent.y + block.y - 1) / block.y, extent.z < 65535 ? extent.z : 65535);
  for_each_voxel_kernel<<<grid, block, 0, static_cast<cudaStream_t>(cuda.stream)>>>(extent, body);
  cuda_check(cudaGetLastError());
}

}  // namespace freeflow
