// The force's two kernels (Lee 2012, 3.1.1). A 2-D block of threads marches along z; the volume is also cut along z into as many chunks as
// fill the GPU's multiprocessors evenly.
//
// `reuse`: a thread owns a column. It computes that column's flux plane by plane and passes those across x and y to its neighbours
// through shared memory; those across z stay in its registers, for they go to itself, one and two planes later. The outermost threads
// compute fluxes alone, so blocks overlap by two columns and no thread does what others do not. Both shared windows, of u's plane and of
// the fluxes, are double, so that a plane needs one barrier; the plane after next is loaded before it is waited for.
//
// `recompute`: a thread owns a voxel's column as well, u's five planes about it stand in shared memory, and the six neighbours' fluxes
// are computed from them by every thread for itself.
#include <algorithm>
#include <utility>

#include <freeflow/core/cuda_check.h>
#include <freeflow/regularize/symmetric_kl_body.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const KlEnergyBody&, double*, double*);
template void for_each_voxel(backend::Cuda, Extent, const KlMeanBody&);

namespace {

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/// u of one column position on all planes.
struct Column {
  const float* at[3];
  std::size_t slice;
  int slices;

  __device__ Column(FieldView<const float> u, int x, int y) : slice(std::size_t(u.extent.x) * u.extent.y), slices(u.extent.z) {
    const std::size_t position = std::size_t(clamped(y, u.extent.y)) * u.extent.x + clamped(x, u.extent.x);
    for (int c = 0; c < 3; ++c) at[c] = u.data + c * u.extent.count() + position;
  }
  __device__ void load(int z, float v[3]) const {
    const std::size_t offset = clamped(z, slices) * slice;
#pragma unroll
    for (int c = 0; c < 3; ++c) v[c] = __ldg(at[c] + offset);
  }
};

/// Shared memory of `reuse`.
template <int TX, int TY>
struct ReuseWindow {
  static constexpr int pitch = TX + 2;
  float u[2][3][(TY + 2) * pitch];  // a plane, with a rim of one
  float flux[2][6][TY * TX];        // across x and y by component
};

/// The element of the rim about the block's plane that a thread loads.
template <int TX, int TY>
struct Rim {
  static constexpr int count = 2 * (TX + TY);
  int x, y;

  __device__ explicit Rim(int id) {
    x = id < 2 * TX ? id % TX : id < 2 * TX + TY ? -1 : TX;
    y = id < TX ? -1 : id < 2 * TX ? TY : (id - 2 * TX) % TY;
  }
  __device__ int position() const { return (y + 1) * (TX + 2) + x + 1; }
};

template <int TX, int TY>
__global__ void __launch_bounds__(TX* TY) kl_reuse_kernel(KlForce body, int chunk) {
  static_assert(Rim<TX, TY>::count <= TX * TY);
  extern __shared__ float shared[];
  ReuseWindow<TX, TY>& window = *reinterpret_cast<ReuseWindow<TX, TY>*>(shared);
  constexpr int pitch = ReuseWindow<TX, TY>::pitch;
  const Extent n = body.u.extent;
  const int tx = threadIdx.x, ty = threadIdx.y, id = ty * TX + tx, here = (ty + 1) * pitch + tx + 1;
  const int block_x = blockIdx.x * (TX - 2) - 1, block_y = blockIdx.y * (TY - 2) - 1, x = block_x + tx, y = block_y + ty;
  const int z0 = blockIdx.z * chunk, z1 = min(z0 + chunk, n.z), first = max(z0 - 1, 0), last = min(z1, n.z - 1);
  const bool writes = (tx > 0) & (tx < TX - 1) & (ty > 0) & (ty < TY - 1) & (x < n.x) & (y < n.y), has_rim = id < Rim<TX, TY>::count;
  const Column column(body.u, x, y);
  const Rim<TX, TY> rim(id);
  const Column rim_column(body.u, block_x + rim.x, block_y + rim.y);
  const float wx = difference_weight(x, n.x), wy = difference_weight(y, n.y);

  float below[3], now[3], above[3], rim_above[3] = {};  // u at z - 1, z, z + 1
  column.load(first - 1, below);
  column.load(first, now);
  column.load(first + 1, above);
  if (has_rim) {
    rim_column.load(first, rim_above);
    for (int c = 0; c < 3; ++c) window.u[0][c][rim.position()] = rim_above[c];
    rim_column.load(first + 1, rim_above);
  }
  for (int c = 0; c < 3; ++c) window.u[0][c][here] = now[c];
  __syncthreads();

  float across_xy[3] = {}, q_before[3] = {}, q_now[3] = {};  // of plane z - 1; fluxes across z of planes z - 2 and z - 1
  const auto finish = [&](int z, const float q_above[3]) {
    if (!writes) return;
    const std::size_t i = (std::size_t(z) * n.y + y) * n.x + x;
    for (int c = 0; c < 3; ++c) {
      const float up = z + 1 < n.z ? q_above[c] : -q_now[c], down = z > 0 ? q_before[c] : -q_now[c];
      body.store(c * n.count() + i, across_xy[c] + (up - down));
    }
  };

  for (int z = first; z <= last; ++z) {
    const int side = (z - first) & 1;
    float next[3], rim_next[3] = {}, d[3][3], q[3][3];
    column.load(z + 2, next);
    if (has_rim) rim_column.load(z + 2, rim_next);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float* u = window.u[side][c] + here;
      d[c][0] = u[1] - u[-1];
      d[c][1] = u[pitch] - u[-pitch];
      d[c][2] = above[c] - below[c];
    }
    const float w[3] = {wx, wy, difference_weight(z, n.z)};
    kl_flux(d, w, q);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      window.flux[side][2 * c][id] = q[c][0];
      window.flux[side][2 * c + 1][id] = q[c][1];
      window.u[1 - side][c][here] = above[c];
      if (has_rim) window.u[1 - side][c][rim.position()] = rim_above[c];
    }
    __syncthreads();
    if (z > z0) {
      const float q_above[3] = {q[0][2], q[1][2], q[2][2]};
      finish(z - 1, q_above);
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (writes) {
        const float *qx = window.flux[side][2 * c] + id, *qy = window.flux[side][2 * c + 1] + id;
        const float x_up = x + 1 < n.x ? qx[1] : -q[c][0], x_down = x > 0 ? qx[-1] : -q[c][0];
        const float y_up = y + 1 < n.y ? qy[TX] : -q[c][1], y_down = y > 0 ? qy[-TX] : -q[c][1];
        across_xy[c] = (x_up - x_down) + (y_up - y_down);
      }
      q_before[c] = q_now[c];
      q_now[c] = q[c][2];
      below[c] = now[c];
      now[c] = above[c];
      above[c] = next[c];
      rim_above[c] = rim_next[c];
    }
  }
  if (z1 == n.z) finish(n.z - 1, q_now);
}

/// Shared memory of `recompute`: five planes of u, z modulo 5, with a rim of two.
template <int TX, int TY>
struct RecomputeWindow {
  static constexpr int pitch = TX + 4, plane = pitch * (TY + 4);
  float u[5][3][plane];
};

/// The flux at an offset from a thread's voxel, with weights of where it lies.
template <int TX, int TY>
__device__ void flux_beside(const RecomputeWindow<TX, TY>& window, Extent n, int x, int y, int z, int here, int dx, int dy, int dz,
                            float q[3][3]) {
  constexpr int pitch = RecomputeWindow<TX, TY>::pitch;
  const int at = here + dy * pitch + dx;
  const auto &below = window.u[(z + dz + 4) % 5], &now = window.u[(z + dz + 5) % 5], &above = window.u[(z + dz + 6) % 5];
  const float w[3] = {difference_weight(x + dx, n.x), difference_weight(y + dy, n.y), difference_weight(z + dz, n.z)};
  float d[3][3];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    d[c][0] = now[c][at + 1] - now[c][at - 1];
    d[c][1] = now[c][at + pitch] - now[c][at - pitch];
    d[c][2] = above[c][at] - below[c][at];
  }
  kl_flux(d, w, q);
}

template <int TX, int TY>
__global__ void __launch_bounds__(TX* TY) kl_recompute_kernel(KlForce body, int chunk) {
  extern __shared__ float shared[];
  using Window = RecomputeWindow<TX, TY>;
  Window& window = *reinterpret_cast<Window*>(shared);
  const Extent n = body.u.extent;
  const int id = threadIdx.y * TX + threadIdx.x, here = (threadIdx.y + 2) * Window::pitch + threadIdx.x + 2;
  const int block_x = blockIdx.x * TX, block_y = blockIdx.y * TY, x = block_x + threadIdx.x, y = block_y + threadIdx.y;
  const int z0 = blockIdx.z * chunk, z1 = min(z0 + chunk, n.z);
  const auto load_plane = [&](int z) {
    for (int i = id; i < Window::plane; i += TX * TY) {
      float v[3];
      Column(body.u, block_x + i % Window::pitch - 2, block_y + i / Window::pitch - 2).load(z, v);
      for (int c = 0; c < 3; ++c) window.u[(z + 5) % 5][c][i] = v[c];
    }
  };
  for (int z = z0 - 2; z < z0 + 2; ++z) load_plane(z);
  for (int z = z0; z < z1; ++z) {
    load_plane(z + 2);
    __syncthreads();
    if (x < n.x && y < n.y) {
      float own[3][3] = {}, up[3][3], down[3][3], sum[3] = {};
      const bool at_border = x == 0 || y == 0 || z == 0 || x == n.x - 1 || y == n.y - 1 || z == n.z - 1;
      if (at_border) flux_beside(window, n, x, y, z, here, 0, 0, 0, own);
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        const int i = axis == 0 ? x : axis == 1 ? y : z, dx = axis == 0, dy = axis == 1, dz = axis == 2;
        const bool has_up = i + 1 < n[axis], has_down = i > 0;
        if (has_up) flux_beside(window, n, x, y, z, here, dx, dy, dz, up);
        if (has_down) flux_beside(window, n, x, y, z, here, -dx, -dy, -dz, down);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          const float difference = (has_up ? up[c][axis] : -own[c][axis]) - (has_down ? down[c][axis] : -own[c][axis]);
          sum[c] = axis == 0 ? difference : sum[c] + difference;
        }
      }
      const std::size_t i = (std::size_t(z) * n.y + y) * n.x + x;
      for (int c = 0; c < 3; ++c) body.store(c * n.count() + i, sum[c]);
    }
    __syncthreads();
  }
}

/// A kernel, its shared memory and its blocks.
struct Launch {
  void (*kernel)(KlForce, int);
  int threads_x, threads_y, outputs_x, outputs_y, overlap;  // overlap: planes that a chunk computes beyond its own
  std::size_t shared_bytes;
};

template <int TX, int TY>
Launch launch_of(KlKernel kernel) {
  if (kernel == KlKernel::reuse) return {kl_reuse_kernel<TX, TY>, TX, TY, TX - 2, TY - 2, 2, sizeof(ReuseWindow<TX, TY>)};
  return {kl_recompute_kernel<TX, TY>, TX, TY, TX, TY, 1, sizeof(RecomputeWindow<TX, TY>)};
}

Launch find_launch(KlKernel kernel, BlockShape shape) {
  Launch launch{};
#define CASE(X, Y) \
  if (shape == BlockShape{X, Y}) launch = launch_of<X, Y>(kernel);
  FREEFLOW_KL_SHAPES(CASE)
#undef CASE
  cuda_check(cudaFuncSetAttribute(reinterpret_cast<const void*>(launch.kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  int(launch.shared_bytes)));
  return launch;
}

int blocks_per_multiprocessor(const Launch& launch) {
  int blocks = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(launch.kernel),
                                                           launch.threads_x * launch.threads_y, launch.shared_bytes));
  return blocks;
}

int multiprocessors() {
  int device = 0, count = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// Planes per chunk so that the waves of blocks, each as long as its chunk with its overlap, end soonest.
int best_chunk(int blocks, int slices, int at_once, int overlap) {
  int best = slices;
  long least = -1;
  for (int chunks = 1; chunks <= slices; ++chunks) {
    const int chunk = (slices + chunks - 1) / chunks, actual = (slices + chunk - 1) / chunk;
    const long waves = (long(blocks) * actual + at_once - 1) / at_once, time = waves * (chunk + overlap + 2);
    if (least < 0 || time < least) best = chunk, least = time;
  }
  return best;
}

}  // namespace

void kl_force(backend::Cuda cuda, const KlForce& body, KlKernel kernel, BlockShape shape, float*) {
  const Extent n = body.u.extent;
  const Launch launch = find_launch(kernel, shape);
  const int across_x = (n.x + launch.outputs_x - 1) / launch.outputs_x, across_y = (n.y + launch.outputs_y - 1) / launch.outputs_y;
  const int at_once = std::max(1, blocks_per_multiprocessor(launch) * multiprocessors());
  const int chunk = best_chunk(across_x * across_y, n.z, at_once, launch.overlap);
  const dim3 blocks(across_x, across_y, (n.z + chunk - 1) / chunk);
  launch.kernel<<<blocks, dim3(launch.threads_x, launch.threads_y), launch.shared_bytes, static_cast<cudaStream_t>(cuda.stream)>>>(body,
                                                                                                                                   chunk);
  cuda_check(cudaGetLastError());
}

KlKernelResources kl_resources(backend::Cuda, KlKernel kernel, BlockShape shape) {
  const Launch launch = find_launch(kernel, shape);
  cudaFuncAttributes attributes{};
  cuda_check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(launch.kernel)));
  int device = 0, threads = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  const int blocks = blocks_per_multiprocessor(launch);
  return {attributes.numRegs, blocks, launch.shared_bytes, attributes.localSizeBytes,
          double(blocks) * launch.threads_x * launch.threads_y / threads};
}

}  // namespace freeflow
