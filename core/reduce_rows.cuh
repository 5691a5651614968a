// Private: the CUDA side of reduce_rows(): a warp per row, its threads are the lanes.
#pragma once

#include <freeflow/core/reduce_rows.h>
#include <freeflow/core/shares.cuh>

namespace freeflow {

template <class Body>
__global__ void __launch_bounds__(256)
    reduce_rows_kernel(Extent extent, int rows, unsigned first, Body body, double* sums) {
  constexpr int lanes = reduction::row_lanes, terms = Body::terms;
  const int row = (first + blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // the same for a whole warp
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
  const int rows = extent.y * extent.z;
  const dim3 block(reduction::row_lanes, 8);
  const unsigned band = unsigned((std::size_t(band_slices(extent)) * extent.y + 7) / 8);
  for_each_share(cuda, {unsigned(rows + 7) / 8, 1, 1, band}, [&](const Share& share, int) {
    reduce_rows_kernel<<<share.count, block, 0, share.stream>>>(extent, rows, share.first, body,
                                                                sums);
  });
}

}  // namespace freeflow
