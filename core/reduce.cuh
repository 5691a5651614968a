// The CUDA side of reduce(): a block of 256 threads is one node of the tree, its threads are the
// lanes.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/core/shares.cuh>

namespace freeflow {

template <class Combine>
__device__ void fold_lanes(double* lane, Combine combine, double* result) {
  const int i = threadIdx.x;
  __syncthreads();
  for (int half = reduction::lanes / 2; half > 0; half /= 2) {
    if (i < half) lane[i] = combine(lane[i], lane[i + half]);
    __syncthreads();
  }
  if (i == 0) *result = lane[0];
}

template <class Body>
__global__ void __launch_bounds__(reduction::lanes)
    reduce_chunks_kernel(std::size_t count, unsigned first, unsigned chunks, Body body,
                         double* partial) {
  __shared__ double lane[reduction::lanes];
  const int term = blockIdx.y;
  const unsigned chunk = first + blockIdx.x;
  const std::size_t begin = std::size_t(chunk) * reduction::chunk;
  double value = 0;
#pragma unroll 4
  for (int k = 0; k < reduction::per_lane; ++k) {
    const std::size_t i = begin + k * reduction::lanes + threadIdx.x;
    if (i < count) value = Body::combine(value, body(i, term));
  }
  lane[threadIdx.x] = value;
  fold_lanes(
      lane, [](double a, double b) { return Body::combine(a, b); },
      partial + std::size_t(term) * chunks + chunk);
}

/// The same for bodies whose terms read the same elements.
template <class Body>
__global__ void __launch_bounds__(reduction::lanes)
    reduce_together_kernel(std::size_t count, int terms, unsigned first, unsigned chunks, Body body,
                           double* partial) {
  __shared__ double lane[reduction::lanes];
  const unsigned chunk = first + blockIdx.x;
  const std::size_t begin = std::size_t(chunk) * reduction::chunk;
  double value[Body::together] = {};
#pragma unroll 2
  for (int k = 0; k < reduction::per_lane; ++k) {
    const std::size_t i = begin + k * reduction::lanes + threadIdx.x;
    if (i >= count) break;
#pragma unroll
    for (int t = 0; t < Body::together; ++t) value[t] = Body::combine(value[t], body(i, t));
  }
#pragma unroll
  for (int t = 0; t < Body::together; ++t) {
    if (t >= terms) break;
    lane[threadIdx.x] = value[t];
    fold_lanes(
        lane, [](double a, double b) { return Body::combine(a, b); },
        partial + std::size_t(t) * chunks + chunk);
  }
}

template <class Body>
concept ReducedTogether = requires {
  Body::together;
};

template <class Body>
__global__ void __launch_bounds__(reduction::lanes)
    reduce_partials_kernel(int chunks, const double* partial, double* result) {
  __shared__ double lane[reduction::lanes];
  const double* p = partial + std::size_t(blockIdx.x) * chunks;
  double value = 0;
  for (int i = threadIdx.x; i < chunks; i += reduction::lanes) value = Body::combine(value, p[i]);
  lane[threadIdx.x] = value;
  fold_lanes(
      lane, [](double a, double b) { return Body::combine(a, b); }, result + blockIdx.x);
}

template <class Body>
void reduce(backend::Cuda cuda, std::size_t count, int terms, const Body& body, double* partial,
            double* result) {
  const auto stream = static_cast<cudaStream_t>(cuda.stream);
  const int chunks = reduction::chunks(count);
  double* const of_chunks = chunks == 1 ? result : partial;
  // A block has the work of several of other loops.
  for_each_share(
      cuda, {unsigned(chunks), 4 * std::size_t(chunks) * unsigned(terms), planes_of_slices<Body>},
      [&](const Share& share, int) {
        if constexpr (ReducedTogether<Body>)
          reduce_together_kernel<<<share.count(), reduction::lanes, 0, share.stream>>>(
              count, terms, share.first, unsigned(chunks), body, of_chunks);
        else
          reduce_chunks_kernel<<<dim3(share.count(), terms), reduction::lanes, 0, share.stream>>>(
              count, share.first, unsigned(chunks), body, of_chunks);
      });
  if (chunks == 1) return;  // 0 + x is x: the second launch would copy
  reduce_partials_kernel<Body><<<terms, reduction::lanes, 0, stream>>>(chunks, partial, result);
  cuda_check(cudaGetLastError());
}

}  // namespace freeflow
