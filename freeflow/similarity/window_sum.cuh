// Private: the CUDA side of window_sum.h.
// Along z: a thread walks a segment of one column; x lies along the warp, so all is coalesced, and what leaves the window was read a few
// slices ago and comes from L2.
// Along y and x: a block walks a segment along y, one thread per column of a strip, with r columns more on each side. Four rows at a time
// the column sums go to shared memory; there a thread takes one plane's 32 voxels of one row and runs along x; then the threads are columns
// again and hand the sums to the body. Rows are skewed by one float every 32, so that threads 32 voxels apart hit different banks.
#pragma once

#include <freeflow/core/cuda_check.h>
#include <freeflow/similarity/window_sum.h>

namespace freeflow {

namespace window_sum {

inline constexpr int column_threads = 128, rows_at_once = 4;

template <class Body>
__global__ void __launch_bounds__(column_threads) along_z_kernel(Extent n, int radius, int length, Body body) {
  constexpr int K = Body::terms;
  const unsigned slice = unsigned(n.x) * n.y, column = blockIdx.x * column_threads + threadIdx.x;
  if (column >= slice) return;
  const int x = column % n.x, y = column / n.x, begin = blockIdx.y * length, end = min(begin + length, n.z);
  double s[K] = {};
#pragma unroll 4
  for (int z = max(begin - radius, 0); z <= min(begin + radius, n.z - 1); ++z) {
    const Terms<K> in = body.load(column + std::size_t(z) * slice);
    for (int k = 0; k < K; ++k) s[k] += in.v[k];
  }
#pragma unroll 2
  for (int z = begin; z < end; ++z) {
    if (z > begin) {
      Terms<K> in{}, out{};
      if (z + radius < n.z) in = body.load(column + std::size_t(z + radius) * slice);
      if (z - radius - 1 >= 0) out = body.load(column + std::size_t(z - radius - 1) * slice);
      for (int k = 0; k < K; ++k) s[k] += in.v[k] - out.v[k];
    }
    float sums[K];
    for (int k = 0; k < K; ++k) sums[k] = float(s[k]);
    body.emit(sums, x, y, z);
  }
}

/// A strip of the grid along x and the shared rows of its block.
struct Strip {
  int width, segment, segments, pitch;
  std::size_t shared_bytes(int terms) const { return std::size_t(2) * rows_at_once * terms * pitch * sizeof(float); }
};

/// Few strips, of equal width; a block's rows stay below the 64 KiB that every GPU since Turing has.
inline Strip strip_of(int nx, int radius) {
  Strip s;
  s.segment = x_segment(radius);
  const int strips = segments(nx, radius <= 16 ? 256 : 128);
  s.width = segments(segments(nx, strips), s.segment) * s.segment;
  s.segments = s.width / s.segment;
  s.pitch = s.width + 2 * radius + (s.width + 2 * radius) / 32 + 1;
  while (s.pitch % 32 != s.segments % 32) ++s.pitch;  // neighbouring tasks of the run along x then lie in neighbouring banks
  return s;
}

template <class Body>
__global__ void __launch_bounds__(320) along_yx_kernel(Extent n, int radius, int length, Strip strip, Body body) {
  constexpr int K = Body::terms;
  extern __shared__ float shared_rows[];
  float* const rows = shared_rows;
  float* const sums = shared_rows + rows_at_once * K * strip.pitch;
  const auto skewed = [](int i) { return i + (i >> 5); };

  const int strip_begin = blockIdx.x * strip.width, i = threadIdx.x, x = strip_begin - radius + i;
  const int begin = blockIdx.y * length, end = min(begin + length, n.y), z = blockIdx.z;
  const bool has_column = i < strip.width + 2 * radius, in_grid = has_column && x >= 0 && x < n.x;
  const bool emits = in_grid && x >= strip_begin && x < strip_begin + strip.width;
  const std::size_t plane = n.count();
  const float* in = body.in + std::size_t(z) * n.y * n.x + x;

  double s[K] = {};
  if (in_grid)
#pragma unroll 2
    for (int y = max(begin - radius, 0); y <= min(begin + radius, n.y - 1); ++y)
      for (int k = 0; k < K; ++k) s[k] += double(in[k * plane + std::size_t(y) * n.x]);

  double a = 0, b = 0;
  for (int y = begin; y < end; y += rows_at_once) {
    float entering[rows_at_once][K], leaving[rows_at_once][K];
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q) {
      const int e = y + q + radius, l = y + q - radius - 1;
      const bool moves = in_grid && y + q > begin;
      for (int k = 0; k < K; ++k) {
        entering[q][k] = moves && e < n.y ? in[k * plane + std::size_t(e) * n.x] : 0.0f;
        leaving[q][k] = moves && l >= 0 && l < n.y ? in[k * plane + std::size_t(l) * n.x] : 0.0f;
      }
    }
#pragma unroll
    for (int q = 0; q < rows_at_once; ++q)
      for (int k = 0; k < K; ++k) {
        s[k] += double(entering[q][k]) - double(leaving[q][k]);
        if (has_column) rows[(q * K + k) * strip.pitch + skewed(i)] = float(s[k]);
      }
    __syncthreads();
    for (int task = i; task < rows_at_once * K * strip.segments; task += blockDim.x) {
      const int first = task % strip.segments * strip.segment, line = task / strip.segments * strip.pitch;
      double t = 0;
#pragma unroll 4
      for (int j = first; j <= first + 2 * radius; ++j) t += double(rows[line + skewed(j)]);
      sums[line + skewed(first)] = float(t);
#pragma unroll 8
      for (int j = first + 1; j < first + strip.segment; ++j) {
        t += double(rows[line + skewed(j + 2 * radius)]) - double(rows[line + skewed(j - 1)]);
        sums[line + skewed(j)] = float(t);
      }
    }
    __syncthreads();
    if (emits)
#pragma unroll
      for (int q = 0; q < rows_at_once; ++q)
        if (y + q < end) {
          float t[K];
          for (int k = 0; k < K; ++k) t[k] = sums[(q * K + k) * strip.pitch + skewed(i - radius)];
          body.emit(t, x, y + q, z, a, b);
        }
  }
  if (emits) body.close(x, blockIdx.y, z, a, b);
}

}  // namespace window_sum

template <class Body>
void sum_along_z(backend::Cuda cuda, Extent n, int radius, const Body& body) {
  using namespace window_sum;
  const int length = z_segment(radius);
  const dim3 grid(unsigned((std::size_t(n.x) * n.y + column_threads - 1) / column_threads), segments(n.z, length));
  along_z_kernel<<<grid, column_threads, 0, static_cast<cudaStream_t>(cuda.stream)>>>(n, radius, length, body);
  cuda_check(cudaGetLastError());
}

template <class Body>
void sum_along_yx(backend::Cuda cuda, Extent n, int radius, const Body& body) {
  using namespace window_sum;
  const int length = y_segment(radius);
  const Strip strip = strip_of(n.x, radius);
  const dim3 grid((n.x + strip.width - 1) / strip.width, segments(n.y, length), n.z);
  const int threads = (strip.width + 2 * radius + 31) / 32 * 32;
  const std::size_t bytes = strip.shared_bytes(Body::terms);
  cuda_check(cudaFuncSetAttribute(along_yx_kernel<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
  along_yx_kernel<<<grid, threads, bytes, static_cast<cudaStream_t>(cuda.stream)>>>(n, radius, length, strip, body);
  cuda_check(cudaGetLastError());
}

}  // namespace freeflow
