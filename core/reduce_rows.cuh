// Private: the CUDA side of reduce_rows(): a warp per row, its threads are the lanes.
#pragma once

#include <freeflow/core/reduce_rows.h>
#include <freeflow/core/shares.cuh>

namespace freeflow {

template <class Body>
__global__ void __launch_bounds__(256)
    reduce_rows_kernel(Extent extent, int first, int end, Body body, double* sums) {
  constexpr int lanes = reduction::row_lanes, terms = Body::terms;
  const int rows = extent.y * extent.z, row = first + blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= end) return;  // the same for a whole warp
  double lane[terms] = {};
  for (int x = threadIdx.x; x < extent.x; x += lanes) {
    double v[terms];
    body(x, std::size_t(row) * extent.x + x, v);
#pragma unroll
    for (int t = 0; t < terms; ++t) lane[t] += v[t];
  }
#pragma unroll
  for (int t = 0; t < terms; ++t) {
    for (int half = lanes / 2; half > 0; half /= 2)
      lane[t] += __shfl_down_sync(0xFFFFFFFFu, lane[t], half);
    if (threadIdx.x == 0) sums[std::size_t(t) * rows + row] = lane[t];
  }
}

template <class Body>
void reduce_rows(backend::Cuda cuda, Extent extent, const Body& body, double* sums) {
  const dim3 block(reduction::row_lanes, 8);
  const unsigned rows = unsigned(extent.y);  // of a slice
  const Dealt dealt{unsigned(extent.z), std::size_t(rows) * unsigned(extent.z) / 8};
  for_each_share(cuda, dealt, [&](const Share& share, int) {
    reduce_rows_kernel<<<(share.count() * rows + 7) / 8, block, 0, share.stream>>>(
        extent, int(share.first * rows), int(share.end * rows), body, sums);
  });
}

}  // namespace freeflow
