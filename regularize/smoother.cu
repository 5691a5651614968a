// Bundles of neighbouring lines pass through shared memory, so that everything is read and written
// once and in whole sectors whatever the axis. Rows of the tile are one word longer than the
// bundle: its transposed side has no bank conflicts either.
//   separable  a warp sums eight neighbouring outputs in registers: eight values and eight weights
//              serve 64 multiplications;
//   recursive  a warp runs along sixteen lines, half of its lanes forwards, the others backwards.
//              Lines too long for shared memory are run through global memory.
// Bound: 8 bytes a voxel and axis.
#include <cuda_pipeline.h>

#include <algorithm>
#include <type_traits>

#include <freeflow/regularize/smoother_body.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/shared_memory.cuh>
#include <freeflow/core/shares.cuh>

namespace freeflow {

namespace {

/// A block's bundle of up to `lanes` lines.
template <bool along_x, int lanes>
struct Bundle {
  static constexpr int pitch = lanes + 1;
  std::size_t start;
  unsigned stride, across;
  int count;  // lines that exist

  __device__ Bundle(const LinesAlong& lines, unsigned index)
      : stride(unsigned(lines.stride())), across(unsigned(lines.across_stride())) {
    const int bundles = (lines.across() + lanes - 1) / lanes, first = int(index % bundles) * lanes;
    start = lines.start_of(int(index / bundles), first);
    count = min(lanes, lines.across() - first);
  }

  /// A thread's share of a tile: voxels `step` apart in memory and `tile_step` apart in the tile,
  /// neighbouring threads on neighbours.
  template <class F>
  __device__ void for_columns(int length, F&& f) const {
    constexpr int width = along_x ? 32 : lanes;
    const int first = threadIdx.x % width, row = threadIdx.x / width, rows = blockDim.x / width;
    for (int column = first; column < (along_x ? length : count); column += width)
      f(column, row, rows, along_x ? count : length);
  }

  /// tile(i, line) = in(begin + i, line), positions clamped to [0, end), after arrive(). All copies
  /// are under way at once.
  __device__ void fill(float* tile, const float* in, int begin, int length, int end) const {
    const bool inner = begin >= 0 && begin + length <= end;
    const auto clamped = [&](int i) { return unsigned(min(max(begin + i, 0), end - 1)); };
    for_columns(length, [&](int column, int row, int rows, int count) {
      const float* const from = in + (along_x ? clamped(column) : column);
      const std::size_t step = along_x ? across : stride;
      float* to = tile + (along_x ? column * pitch + row : row * pitch + column);
      const int to_step = along_x ? rows : rows * pitch;
      if (along_x || inner) {
        const float* next = from + std::size_t(unsigned(along_x ? row : begin + row)) * step;
#pragma unroll 4
        for (int k = row; k < count; k += rows, next += rows * step, to += to_step)
          __pipeline_memcpy_async(to, next, sizeof(float));
      } else {
        for (int k = row; k < count; k += rows, to += to_step)
          __pipeline_memcpy_async(to, from + std::size_t(clamped(k)) * step, sizeof(float));
      }
    });
    __pipeline_commit();
  }
  static __device__ void arrive() {
    __pipeline_wait_prior(0);
    __syncthreads();
  }

  /// out(begin + i, line) = value(place of (i, line) in the tile).
  template <class Value>
  __device__ void drain(float* out, int begin, int length, Value value) const {
    for_columns(length, [&](int column, int row, int rows, int count) {
      const std::size_t step = along_x ? across : stride;
      float* next = out + (along_x ? begin + column : column) +
                    std::size_t(unsigned(along_x ? row : begin + row)) * step;
#pragma unroll 8
      for (int k = row; k < count; k += rows, next += rows * step)
        *next = value(along_x ? column * pitch + k : k * pitch + column);
    });
  }
};

constexpr int outputs = 8, separable_warps = 8, segment = outputs * separable_warps;

__host__ __device__ int in_eights(int n) { return (n + 7) / 8 * 8; }

/// sum[j] += w[q - j] * v[q] for the eight values v from a tile's column; weights of lower index
/// are in `before`.
template <int pitch>
__device__ void weigh_eight(const float* column, const float (&before)[8], const float (&w)[8],
                            float (&sum)[outputs]) {
#pragma unroll
  for (int q = 0; q < 8; ++q) {
    const float v = column[q * pitch];
#pragma unroll
    for (int j = 0; j < outputs; ++j)
      sum[j] = fma_(q >= j ? w[q - j] : before[8 + q - j], v, sum[j]);
  }
}

__device__ void load_eight(const float* aligned, float (&w)[8]) {
  const float4 low = reinterpret_cast<const float4*>(aligned)[0],
               high = reinterpret_cast<const float4*>(aligned)[1];
  w[0] = low.x, w[1] = low.y, w[2] = low.z, w[3] = low.w, w[4] = high.x, w[5] = high.y,
  w[6] = high.z, w[7] = high.w;
}

/// Weights lie between zeros: what lies outside a window counts 0 times.
template <bool along_x>
__global__ void __launch_bounds__(32 * separable_warps)
    separable_kernel(SeparableLines body, unsigned first_bundle, int first, int last) {
  extern __shared__ float4 memory[];
  using Lines = Bundle<along_x, 32>;
  const Lines bundle(body.lines, first_bundle + blockIdx.x);
  const int length = body.lines.extent[body.lines.axis], begin = first + int(blockIdx.y) * segment,
            end = min(begin + segment, last);
  const int radius = body.radius, window = in_eights(2 * radius + outputs);
  float *const weights = reinterpret_cast<float*>(memory), *const tile = weights + window + 8;
  for (int k = threadIdx.x; k < window + 8; k += blockDim.x)
    weights[k] = k >= 8 && k - 8 <= 2 * radius ? body.weights[k - 8] : 0.0f;
  bundle.fill(tile, body.in + bundle.start, begin - radius, segment - outputs + window, length);
  bundle.arrive();

  const int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * outputs;
  const float* column = tile + mine * Lines::pitch + lane;
  float sum[outputs] = {}, even[8], odd[8] = {};
  for (int base = 0; base < window; base += 16) {
    load_eight(weights + 8 + base, even);
    weigh_eight<Lines::pitch>(column + base * Lines::pitch, odd, even, sum);
    if (base + 8 >= window) break;
    load_eight(weights + 16 + base, odd);
    weigh_eight<Lines::pitch>(column + (base + 8) * Lines::pitch, even, odd, sum);
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < outputs; ++j) tile[(mine + j) * Lines::pitch + lane] = sum[j];
  __syncthreads();
  bundle.drain(body.out + bundle.start, begin, end - begin, [&](int place) { return tile[place]; });
}

constexpr int recursive_threads = 128, recursive_lanes = 16;

/// RecursiveState for a lane that goes forwards or backwards, with one stream of instructions and
/// the same rounding.
struct RecursiveLane {
  bool forward;
  float pa, qa, pb, qb,
      offset;  // offset: what the direction's sum adds; -0 leaves every number as it is
  RecursiveState s;

  __device__ RecursiveLane(const RecursiveLines& body, bool forward, float base, float last)
      : forward(forward), pa(forward ? body.a.n0 : body.a.m1), qa(forward ? body.a.n1 : body.a.m2),
        pb(forward ? body.b.n0 : body.b.m1), qb(forward ? body.b.n1 : body.b.m2),
        offset(forward ? base : -0.0f),
        s(forward ? RecursiveState::steady(0.0f, 0.0f, 0.0f)
                  : RecursiveState::steady(last - base, body.a.steady_backward,
                                           body.b.steady_backward)) {}

  __device__ float step(const RecursiveSection& a, const RecursiveSection& b, float x) {
    const float u = forward ? x : s.x1, v = forward ? s.x1 : s.x2;
    const float a0 = fma_(a.d1, s.a1, fma_(a.d2, s.a2, fma_(pa, u, qa * v)));
    const float b0 = fma_(b.d1, s.b1, fma_(b.d2, s.b2, fma_(pb, u, qb * v)));
    s = {x, s.x1, a0, s.a1, b0, s.b1};
    return offset + (a0 + b0);
  }
};

/// Two floats a voxel in shared memory: where the directions have met, each finds the other's sums
/// and leaves the result in place of x.
template <bool along_x>
__global__ void __launch_bounds__(recursive_threads)
    recursive_kernel(RecursiveLines body, unsigned first_bundle) {
  extern __shared__ float4 memory[];
  using Lines = Bundle<along_x, recursive_lanes>;
  constexpr int pitch = Lines::pitch;
  const Lines bundle(body.lines, first_bundle + blockIdx.x);
  const int length = body.lines.extent[body.lines.axis], middle = length / 2;
  float* const tile = reinterpret_cast<float*>(memory);
  bundle.fill(tile, body.in + bundle.start, 0, length, length);
  bundle.arrive();

  if (threadIdx.x < 32) {
    const int line = threadIdx.x % recursive_lanes;
    const bool exists = line < bundle.count, forward = threadIdx.x < recursive_lanes,
               odd = length % 2;
    const float base = tile[line];
    RecursiveLane lane(body, forward, base, tile[(length - 1) * pitch + line]);
    const int step = forward ? pitch : -pitch;
    float *x = tile + line + (forward ? 0 : (length - 1) * pitch), *sums = x + length * pitch;
    // Several steps at a time: the values are loaded before one is written.
    const auto go = [&](auto first_half, auto count) {
      float values[count], met[count];
#pragma unroll
      for (int k = 0; k < count; ++k)
        values[k] = x[k * step], met[k] = first_half ? 0.0f : sums[k * step];
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const float sum = lane.step(body.a, body.b, values[k] - base);
        (first_half ? sums : x)[k * step] = first_half ? sum : sum + met[k];
      }
      x += count * step, sums += count * step;
    };
    const auto half = [&](auto first_half, int count) {
      for (; count >= 8; count -= 8) go(first_half, std::integral_constant<int, 8>());
      for (; count > 0; --count) go(first_half, std::integral_constant<int, 1>());
    };
    if (exists) half(std::true_type(), middle + (odd && !forward));
    __syncwarp();
    if (exists) half(std::false_type(), middle + (odd && forward));
  }
  __syncthreads();
  bundle.drain(body.out + bundle.start, 0, length, [&](int place) { return tile[place]; });
}

__global__ void __launch_bounds__(recursive_threads)
    long_recursive_kernel(RecursiveLines body, int groups) {
  const int line = blockIdx.x * blockDim.x + threadIdx.x, across = body.lines.across();
  if (line >= groups * across) return;
  const std::size_t start = body.lines.start_of(line / across, line % across);
  recursive_line(body.a, body.b, body.in + start, body.out + start,
                 body.lines.extent[body.lines.axis], body.lines.stride());
}

unsigned bundles_of(const LinesAlong& lines, int planes, int lanes) {
  return unsigned((lines.across() + lanes - 1) / lanes) * lines.groups(planes);
}

}  // namespace

void smooth_lines(backend::Cuda cuda, const SeparableLines& body, int planes) {
  const int window = in_eights(2 * body.radius + outputs),
            length = body.lines.extent[body.lines.axis];
  const std::size_t bytes =
      sizeof(float) * (window + 8 + (segment - outputs + window) * Bundle<true, 32>::pitch);
  const auto kernel = body.lines.axis == 0 ? separable_kernel<true> : separable_kernel<false>;
  const Extent n = body.lines.extent;
  const bool along_z = body.lines.axis == 2;
  const auto segments = [&](int outputs) { return unsigned(outputs + segment - 1) / segment; };
  const unsigned bundles = bundles_of(body.lines, planes, 32),
                 of_slice = along_z ? 0 : bundles / unsigned(planes * n.z);
  const unsigned stacked = along_z ? 1 : unsigned(planes);
  const Dealt dealt{unsigned(n.z) * stacked, std::size_t(bundles) * segments(length), stacked};
  for_each_share(cuda, dealt, [&](const Share& share, int) {
    allow_shared_memory(kernel);
    const int first = along_z ? int(share.first) : 0, last = along_z ? int(share.end) : length;
    const dim3 grid(along_z ? bundles : share.count() * of_slice, segments(last - first));
    kernel<<<grid, 32 * separable_warps, bytes, share.stream>>>(body, share.first * of_slice, first,
                                                                last);
  });
}

void smooth_lines(backend::Cuda cuda, const RecursiveLines& body, int planes) {
  int device, most_shared;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const std::size_t bytes =
      sizeof(float) * 2 * Bundle<true, recursive_lanes>::pitch * body.lines.extent[body.lines.axis];
  if (bytes <= std::size_t(most_shared)) {
    const auto kernel = body.lines.axis == 0 ? recursive_kernel<true> : recursive_kernel<false>;
    // Lines along z belong to all slices: they are dealt out by rows.
    const Extent n = body.lines.extent;
    const bool along_z = body.lines.axis == 2;
    const unsigned bundles = bundles_of(body.lines, planes, recursive_lanes),
                   slices = unsigned(along_z ? n.y : n.z), of_slice = bundles / (planes * slices);
    const Dealt dealt{slices * unsigned(planes), bundles, unsigned(planes)};
    for_each_share(cuda, dealt, [&](const Share& share, int) {
      allow_shared_memory(kernel);
      kernel<<<share.count() * of_slice, recursive_threads, bytes, share.stream>>>(
          body, share.first * of_slice);
    });
  } else {
    const int groups = body.lines.groups(planes);
    const unsigned blocks = unsigned(
        (std::size_t(groups) * body.lines.across() + recursive_threads - 1) / recursive_threads);
    long_recursive_kernel<<<blocks, recursive_threads, 0, static_cast<cudaStream_t>(cuda.stream)>>>(
        body, groups);
    cuda_check(cudaGetLastError());
  }
}

}  // namespace freeflow
