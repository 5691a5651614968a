// Private: the CUDA side of window_sum.h.
//
// Along z: a thread walks a segment of one column, a few slices at a time, their reads first. x
// lies along the warp, so all is coalesced, and what leaves the window was read a few slices ago
// and comes from L2.
//
// Along y and x: a block walks a segment along y, with a thread per column of a strip (and of
// `radius` columns more on each side) in each of three groups that share the planes. Six rows at a
// time the column sums go to shared memory; there a thread takes one block of one plane's row; then
// every group hands every third row to the body. Blocks have an odd width, so neighbouring threads
// hit different banks.
#pragma once

#include <freeflow/similarity/window_sum.h>
#include <freeflow/core/shared_memory.cuh>
#include <freeflow/core/shares.cuh>

namespace freeflow {

namespace window_sum {

inline constexpr int column_threads = 128, groups = tally_lanes, rows_at_once = 2 * groups;

/// Blocks of a multiprocessor that the compiler leaves registers for: more where a body needs few.
template <class Body>
constexpr int columns_at_once = Body::terms == 3 ? 10 : 8;

template <class Body>
__global__ void __launch_bounds__(column_threads, columns_at_once<Body>)
    along_z_kernel(Extent n, int radius, int length, unsigned first_segment, Body body) {
  constexpr int K = Body::terms, slices_at_once = Body::inputs > 2 ? 2 : 4;
  const unsigned slice = unsigned(n.x) * n.y, column = blockIdx.x * column_threads + threadIdx.x;
  if (column >= slice) return;
  const int x = column % n.x, y = column / n.x, begin = (first_segment + blockIdx.y) * length,
            end = min(begin + length, n.z);
  const auto read = [&](bool exists, int z, float* in) {
    for (int k = 0; k < Body::inputs; ++k) in[k] = Body::absent;
    if (exists) body.load(column + std::size_t(z) * slice, in);
  };
  double s[K] = {};
#pragma unroll 4
  for (int z = max(begin - radius, 0); z <= min(begin + radius, n.z - 1); ++z) {
    float in[Body::inputs];
    read(true, z, in);
    const Terms<K> t = Body::widen(in);
    for (int k = 0; k < K; ++k) s[k] += t.v[k];
  }
  for (int first = begin; first < end; first += slices_at_once) {
    float entering[slices_at_once][Body::inputs], leaving[slices_at_once][Body::inputs];
#pragma unroll
    for (int q = 0; q < slices_at_once; ++q) {
      const int z = first + q;
      read(z > begin && z + radius < n.z, z + radius, entering[q]);
      read(z > begin && z - radius - 1 >= 0 && z < end, z - radius - 1, leaving[q]);
    }
#pragma unroll
    for (int q = 0; q < slices_at_once; ++q) {
      const Terms<K> in = Body::widen(entering[q]), out = Body::widen(leaving[q]);
      float sums[K];
      for (int k = 0; k < K; ++k) sums[k] = float(s[k] += in.v[k] - out.v[k]);
      if (first + q < end) body.emit(sums, x, y, first + q);
    }
  }
}

/// A strip of the grid along x, whole blocks wide, and the lengths of its rows in shared memory.
struct Strip {
  int width, blocks, rows_pitch, sums_pitch;
  unsigned inverse_blocks;  // task / blocks = task * inverse_blocks / 2^20, exactly for all tasks
                            // of a block
  std::size_t shared_bytes(int terms) const {
    return std::size_t(rows_at_once) * terms * (rows_pitch + sums_pitch) * sizeof(float);
  }
};

/// Up to this radius a strip has at most narrow_threads columns with its margins, above it at most
/// wide_threads.
inline constexpr int narrow_radius = 16, narrow_threads = 128, wide_threads = 288;

/// Strips of equal width; a block's rows stay below the 64 KiB that every GPU since Turing has.
/// Small blocks share a multiprocessor better than wide ones repeat fewer margins: strips of 96
/// columns take 3 to 4 % off the whole measure at radius 2 against 192.
inline Strip strip_of(int nx, int radius) {
  const int window = 2 * radius + 1,
            widest = std::max(1, (radius <= narrow_radius ? 96 : 128) / window) * window;
  Strip s;
  s.blocks = segments(segments(nx, segments(nx, widest)), window);
  s.width = s.blocks * window;
  s.sums_pitch = s.width;
  s.rows_pitch =
      s.width +
      (2 * radius + 31) / 32 *
          32;  // as s.width modulo 32: the blocks' stride over the banks goes on in the next row
  s.inverse_blocks = ((1u << 20) + s.blocks - 1) / s.blocks;
  return s;
}

/// The sums of the windows that start in one block: v[0 ... 2 window - 2] to out[0 ... window - 1].
__device__ inline void sum_block(const float* v, float* out, int window) {
  float t = 0;
  for (int j = window - 1; j >= 0; --j) out[j] = t += v[j];
  t = 0;
  for (int j = 1; j < window; ++j) out[j] += t += v[j + window - 1];
}

/// The same in registers, for the windows that are mostly used.
template <int window>
__device__ __forceinline__ void sum_block(const float* v, float* out) {
  float from_right[window], t = 0;
#pragma unroll
  for (int j = window - 1; j >= 0; --j) from_right[j] = t += v[j];
  out[0] = from_right[0];
  t = 0;
#pragma unroll
  for (int j = 1; j < window; ++j) out[j] = from_right[j] + (t += v[j + window - 1]);
}

template <int window>
__device__ __forceinline__ void sum_blocks(const float* rows, float* sums, const Strip& strip,
                                           int lines, int runtime_window) {
  const int w = window ? window : runtime_window;
  for (unsigned task = threadIdx.y * blockDim.x + threadIdx.x;
       task < unsigned(lines * strip.blocks); task += groups * blockDim.x) {
    const int line = task * strip.inverse_blocks >> 20, first = (task - line * strip.blocks) * w;
    const float* v = rows + line * strip.rows_pitch + first;
    float* out = sums + line * strip.sums_pitch + first;
    if constexpr (window != 0)
      sum_block<window>(v, out);
    else
      sum_block(v, out, w);
  }
}

__device__ inline void sum_all_blocks(const float* rows, float* sums, const Strip& strip, int lines,
                                      int radius) {
  switch (radius) {
    case 1: return sum_blocks<3>(rows, sums, strip, lines, 0);
    case 2: return sum_blocks<5>(rows, sums, strip, lines, 0);
    case 3: return sum_blocks<7>(rows, sums, strip, lines, 0);
    case 4: return sum_blocks<9>(rows, sums, strip, lines, 0);
    case 5: return sum_blocks<11>(rows, sums, strip, lines, 0);
    case 7: return sum_blocks<15>(rows, sums, strip, lines, 0);
    default: return sum_blocks<0>(rows, sums, strip, lines, 2 * radius + 1);
  }
}

template <int threads, class Body>
__global__ void __launch_bounds__(groups* threads, threads == narrow_threads ? 4 : 2)
    along_yx_kernel(Extent n, int radius, int length, Strip strip, unsigned first_slice,
                    Body body) {
  constexpr int K = Body::terms, mine = K / groups,
                read_at_once = rows_at_once / mine;  // twelve reads at once
  static_assert(mine * groups == K && read_at_once * mine == rows_at_once);
  extern __shared__ float shared_rows[];
  float* const rows = shared_rows;
  float* const sums = shared_rows + rows_at_once * K * strip.rows_pitch;

  const int strip_begin = blockIdx.x * strip.width, i = threadIdx.x, group = threadIdx.y,
            x = strip_begin - radius + i;
  const int begin = blockIdx.y * length, end = min(begin + length, n.y),
            z = first_slice + blockIdx.z;
  const bool has_column = i < strip.width + 2 * radius, in_grid = has_column && x >= 0 && x < n.x;
  const bool emits = in_grid && x >= strip_begin && x < strip_begin + strip.width;
  const std::size_t plane = n.count();
  const float* const in = body.in + (std::size_t(group * mine) * n.z + z) * n.y * n.x + x;
  float* const my_rows = rows + group * mine * strip.rows_pitch + i;
  const auto read_row = [&](bool exists, int y, float* v) {
#pragma unroll
    for (int k = 0; k < mine; ++k) v[k] = exists ? read_only(in + k * plane + y * n.x) : 0.0f;
  };

  double s[mine] = {};
  if (in_grid)
#pragma unroll 4
    for (int y = max(begin - radius, 0); y <= min(begin + radius, n.y - 1); ++y) {
      float v[mine];
      read_row(true, y, v);
#pragma unroll
      for (int k = 0; k < mine; ++k) s[k] += double(v[k]);
    }
  else if (has_column)  // beyond the grid all is 0, once and for all
    for (int line = 0; line < rows_at_once * K; line += K)
      for (int k = 0; k < mine; ++k) my_rows[(line + k) * strip.rows_pitch] = 0.0f;

  double a = 0, b = 0;
  for (int y = begin; y < end; y += rows_at_once) {
    if (in_grid)
#pragma unroll 1
      for (int q = 0; q < rows_at_once; q += read_at_once) {
        float entering[read_at_once][mine], leaving[read_at_once][mine];
#pragma unroll
        for (int p = 0; p < read_at_once; ++p) {
          const int yp = y + q + p;
          read_row(yp > begin && yp + radius < n.y, yp + radius, entering[p]);
          read_row(yp > begin && yp - radius - 1 >= 0 && yp < end, yp - radius - 1, leaving[p]);
        }
#pragma unroll
        for (int p = 0; p < read_at_once; ++p)
#pragma unroll
          for (int k = 0; k < mine; ++k) {
            s[k] += double(entering[p][k]) - double(leaving[p][k]);
            my_rows[((q + p) * K + k) * strip.rows_pitch] = float(s[k]);
          }
      }
    __syncthreads();
    sum_all_blocks(rows, sums, strip, rows_at_once * K, radius);
    __syncthreads();
    if (emits)
#pragma unroll 1
      for (int q = group; q < rows_at_once && y + q < end; q += groups) {
        float t[K];
#pragma unroll
        for (int k = 0; k < K; ++k) t[k] = sums[(q * K + k) * strip.sums_pitch + i - radius];
        body.emit(t, x, y + q, z, a, b);
      }
  }
  // The groups' tallies, added up in their order.
  __syncthreads();
  double* const tallies = reinterpret_cast<double*>(shared_rows) + i;
  tallies[(2 * group) * blockDim.x] = a;
  tallies[(2 * group + 1) * blockDim.x] = b;
  __syncthreads();
  if (!emits || group != 0) return;
  for (int g = 1; g < groups; ++g) {
    a += tallies[(2 * g) * blockDim.x];
    b += tallies[(2 * g + 1) * blockDim.x];
  }
  body.close(x, blockIdx.y, z, a, b);
}

}  // namespace window_sum

template <class Body>
void sum_along_z(backend::Cuda cuda, Extent n, int radius, const Body& body) {
  using namespace window_sum;
  const int length = z_segment(radius);
  const unsigned columns = unsigned((std::size_t(n.x) * n.y + column_threads - 1) / column_threads);
  // Segments stay whole, as a sum goes on from slice to slice.
  const unsigned all = unsigned(segments(n.z, length));
  const Dealt dealt{all, std::size_t(all) * columns};
  for_each_share(cuda, dealt, [&](const Share& share, int) {
    along_z_kernel<<<dim3(columns, share.count()), column_threads, 0, share.stream>>>(
        n, radius, length, share.first, body);
  });
}

template <class Body>
void sum_along_yx(backend::Cuda cuda, Extent n, int radius, const Body& body) {
  using namespace window_sum;
  const int length = y_segment(radius);
  const Strip strip = strip_of(n.x, radius);
  dim3 grid((n.x + strip.width - 1) / strip.width, segments(n.y, length));
  const int threads = (strip.width + 2 * radius + 31) / 32 * 32;
  const std::size_t bytes = strip.shared_bytes(Body::terms);
  const auto kernel = radius <= narrow_radius ? along_yx_kernel<narrow_threads, Body>
                                              : along_yx_kernel<wide_threads, Body>;
  const Dealt slices{unsigned(n.z), std::size_t(grid.x) * grid.y * unsigned(n.z)};
  for_each_share(cuda, slices, [&](const Share& share, int) {
    allow_shared_memory(kernel);
    grid.z = share.count();
    kernel<<<grid, dim3(threads, groups), bytes, share.stream>>>(n, radius, length, strip,
                                                                 share.first, body);
  });
}

}  // namespace freeflow
