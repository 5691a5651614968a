// The force's two kernels (Lee 2012, 3.1.1). A 2-D block of threads marches along z; the volume is
// also cut along z into as many chunks as fill the GPU's multiprocessors evenly.
//
// `reuse`: a thread owns a column. It computes that column's flux plane by plane and passes those
// across x and y to its neighbours through shared memory; those across z stay in its registers, for
// they go to itself, one and two planes later. The outermost threads compute fluxes alone, so
// blocks overlap by two columns. Both shared windows, of u's plane and of the fluxes, are double,
// so that a plane needs one barrier; the plane after next is loaded before it is waited for.
// Instructions bound it, so the loop is written for few of them: a column at the volume's border
// also writes the fluxes beyond it, so that no column has to choose what it reads, and the sides of
// the windows are constants.
//
// `recompute`: a thread owns a voxel's column as well, u's five planes about it stand in shared
// memory, and the six neighbours' fluxes are computed from them by every thread for itself.
#include <algorithm>
#include <cstdint>

#include <freeflow/regularize/symmetric_kl_body.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>
#include <freeflow/core/shared_memory.cuh>

namespace freeflow {

template void reduce(backend::Cuda, std::size_t, int, const KlEnergyBody&, double*, double*);
template void for_each_voxel(backend::Cuda, Extent, const KlMeanBody&);

namespace {

__device__ int clamped(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/// Where a column's voxels are in a component's volume, in 32 bits (symmetric_kl.cpp sees to
/// it); x, y and z beyond it mean its border (z from 0 on).
struct Column {
  std::uint32_t position, slice;
  int slices;

  __device__ Column(Extent n, int x, int y)
      : position(std::uint32_t(clamped(y, n.y)) * n.x + clamped(x, n.x)),
        slice(std::uint32_t(n.x) * n.y), slices(n.z) {}
  __device__ std::uint32_t at(int z) const { return position + min(z, slices - 1) * slice; }
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
class ReuseColumn {
 public:
  __device__ ReuseColumn(const KlForce& body, ReuseWindow<TX, TY>& window, int chunk)
      : body_(body), n_(body.u.extent), window_(window), id_(threadIdx.y * TX + threadIdx.x),
        here_((threadIdx.y + 1) * pitch + threadIdx.x + 1),
        x_(blockIdx.x * (TX - 2) + threadIdx.x - 1), y_(blockIdx.y * (TY - 2) + threadIdx.y - 1),
        z0_(blockIdx.z * chunk), z1_(min(z0_ + chunk, n_.z)),
        inside_((x_ >= 0) & (x_ < n_.x) & (y_ >= 0) & (y_ < n_.y)),
        writes_(inside_ & (threadIdx.x > 0) & (threadIdx.x < TX - 1) & (threadIdx.y > 0) &
                (threadIdx.y < TY - 1)),
        at_border_(writes_ & ((x_ == 0) | (x_ == n_.x - 1) | (y_ == 0) | (y_ == n_.y - 1))),
        has_rim_(id_ < Rim<TX, TY>::count), rim_(id_), column_(n_, x_, y_),
        rim_column_(n_, blockIdx.x * (TX - 2) - 1 + rim_.x, blockIdx.y * (TY - 2) - 1 + rim_.y),
        out_(column_.at(z0_)), sx_(difference_scale(x_, n_.x)), sy_(difference_scale(y_, n_.y)) {}

  /// The planes of the chunk and one on either side; the force of a plane follows the fluxes of the
  /// plane above.
  __device__ void march() {
    start();
    if (z0_ > 0) plane<1, false>(z0_ - 1);
    plane<0, false>(z0_);
    int z = z0_ + 1;
    for (int left = min(z1_ + 1, n_.z) - z; left > 0; left -= 2, z += 2) {
      plane<1, true>(z);
      if (left == 1) break;
      plane<0, true>(z + 1);
    }
    if (z1_ < n_.z) return;
    const float beyond[3] = {-q_now_[0], -q_now_[1], -q_now_[2]};
    finish(beyond);
  }

 private:
  static constexpr int pitch = ReuseWindow<TX, TY>::pitch;

  /// The plane to begin with in its side of the window, the one below in the other, the one above
  /// in registers.
  __device__ void start() {
    const int side = z0_ > 0, first = z0_ - side;
    float v[3];
    load(column_, max(first - 1, 0), v);
    for (int c = 0; c < 3; ++c) window_.u[1 - side][c][here_] = v[c];
    load(column_, first, v);
    for (int c = 0; c < 3; ++c) window_.u[side][c][here_] = v[c];
    load(column_, first + 1, above_);
    if (has_rim_) {
      load(rim_column_, first, v);
      for (int c = 0; c < 3; ++c) window_.u[side][c][rim_.position()] = v[c];
      load(rim_column_, first + 1, rim_above_);
    }
    __syncthreads();
  }

  /// The fluxes of plane z, whose u is in the given side of the window, then the force of plane z -
  /// 1 if it is the chunk's.
  template <int side, bool finishes>
  __device__ void plane(int z) {
    if (finishes) __builtin_assume(z > 0), __builtin_assume(z < n_.z);
    float next[3], d[3][3], q[3][3];
    load(column_, z + 2, next);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float* u = window_.u[side][c] + here_;
      d[c][0] = u[1] - u[-1];
      d[c][1] = u[pitch] - u[-pitch];
      d[c][2] = above_[c] - window_.u[1 - side][c][here_];
    }
    const float s[3] = {sx_, sy_, difference_scale(z, n_.z)};
    kl_flux(d, s, q);
    if (inside_) share<side>(q);
    if (at_border_) share_beyond<side>(q);
#pragma unroll
    for (int c = 0; c < 3; ++c) window_.u[1 - side][c][here_] = above_[c];
    if (has_rim_) {
      for (int c = 0; c < 3; ++c) window_.u[1 - side][c][rim_.position()] = rim_above_[c];
      load(rim_column_, z + 2, rim_above_);
    }
    __syncthreads();
    const float across_z[3] = {q[0][2], q[1][2], q[2][2]};
    if (finishes) finish(across_z);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float *qx = window_.flux[side][2 * c] + id_, *qy = window_.flux[side][2 * c + 1] + id_;
      if (writes_) across_xy_[c] = (qx[1] - qx[-1]) + (qy[TX] - qy[-TX]);
      q_before_[c] = finishes || z > 0 ? q_now_[c] : -across_z[c];
      q_now_[c] = across_z[c];
      above_[c] = next[c];
    }
  }

  __device__ void load(const Column& column, int z, float v[3]) const {
    const std::uint32_t i = column.at(z);
#pragma unroll
    for (int c = 0; c < 3; ++c) v[c] = __ldg(body_.u.data + c * body_.voxels + i);
  }

  template <int side>
  __device__ void share(const float q[3][3]) {
#pragma unroll
    for (int c = 0; c < 3; ++c)
      for (int a = 0; a < 2; ++a) window_.flux[side][2 * c + a][id_] = q[c][a];
  }

  /// What lies beyond the volume's border.
  template <int side>
  __device__ void share_beyond(const float q[3][3]) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (x_ == 0) window_.flux[side][2 * c][id_ - 1] = -q[c][0];
      if (x_ == n_.x - 1) window_.flux[side][2 * c][id_ + 1] = -q[c][0];
      if (y_ == 0) window_.flux[side][2 * c + 1][id_ - TX] = -q[c][1];
      if (y_ == n_.y - 1) window_.flux[side][2 * c + 1][id_ + TX] = -q[c][1];
    }
  }

  /// The force of the next plane in turn.
  __device__ void finish(const float q_above[3]) {
    if (writes_) {
      float sum[3];
#pragma unroll
      for (int c = 0; c < 3; ++c) sum[c] = across_xy_[c] + (q_above[c] - q_before_[c]);
      body_.store(out_, sum);
    }
    out_ += std::uint32_t(n_.x) * n_.y;
  }

  const KlForce& body_;
  const Extent n_;
  ReuseWindow<TX, TY>& window_;
  const int id_, here_, x_, y_, z0_, z1_;
  const bool inside_, writes_, at_border_, has_rim_;
  const Rim<TX, TY> rim_;
  const Column column_, rim_column_;
  std::uint32_t out_;
  const float sx_, sy_;
  float above_[3], rim_above_[3];  // u of plane z + 1
  float across_xy_[3], q_before_[3],
      q_now_[3];  // of plane z - 1; fluxes across z of planes z - 2 and z - 1
};

template <int TX, int TY>
__global__ void __launch_bounds__(TX* TY) kl_reuse_kernel(KlForce body, int chunk) {
  static_assert(Rim<TX, TY>::count <= TX * TY);
  extern __shared__ float shared[];
  ReuseColumn<TX, TY>(body, reinterpret_cast<ReuseWindow<TX, TY>&>(*shared), chunk).march();
}

/// Shared memory of `recompute`: five planes of u, z modulo 5, with a rim of two.
template <int TX, int TY>
struct RecomputeWindow {
  static constexpr int pitch = TX + 4, plane = pitch * (TY + 4);
  float u[5][3][plane];
};

/// The flux at an offset from a thread's voxel, with weights of where it lies.
template <int TX, int TY>
__device__ void flux_beside(const RecomputeWindow<TX, TY>& window, Extent n, int x, int y, int z,
                            int here, int dx, int dy, int dz, float q[3][3]) {
  constexpr int pitch = RecomputeWindow<TX, TY>::pitch;
  const int at = here + dy * pitch + dx;
  const auto &below = window.u[(z + dz + 4) % 5], &now = window.u[(z + dz + 5) % 5],
             &above = window.u[(z + dz + 6) % 5];
  const float s[3] = {difference_scale(x + dx, n.x), difference_scale(y + dy, n.y),
                      difference_scale(z + dz, n.z)};
  float d[3][3];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    d[c][0] = now[c][at + 1] - now[c][at - 1];
    d[c][1] = now[c][at + pitch] - now[c][at - pitch];
    d[c][2] = above[c][at] - below[c][at];
  }
  kl_flux(d, s, q);
}

template <int TX, int TY>
__global__ void __launch_bounds__(TX* TY) kl_recompute_kernel(KlForce body, int chunk) {
  extern __shared__ float shared[];
  using Window = RecomputeWindow<TX, TY>;
  Window& window = *reinterpret_cast<Window*>(shared);
  const Extent n = body.u.extent;
  const int id = threadIdx.y * TX + threadIdx.x,
            here = (threadIdx.y + 2) * Window::pitch + threadIdx.x + 2;
  const int block_x = blockIdx.x * TX, block_y = blockIdx.y * TY, x = block_x + threadIdx.x,
            y = block_y + threadIdx.y;
  const int z0 = blockIdx.z * chunk, z1 = min(z0 + chunk, n.z);
  const auto load_plane = [&](int z) {
    for (int i = id; i < Window::plane; i += TX * TY) {
      const std::uint32_t at =
          Column(n, block_x + i % Window::pitch - 2, block_y + i / Window::pitch - 2).at(max(z, 0));
      for (int c = 0; c < 3; ++c)
        window.u[(z + 5) % 5][c][i] = __ldg(body.u.data + c * body.voxels + at);
    }
  };
  for (int z = z0 - 2; z < z0 + 2; ++z) load_plane(z);
  for (int z = z0; z < z1; ++z) {
    load_plane(z + 2);
    __syncthreads();
    if (x < n.x && y < n.y) {
      float own[3][3] = {}, up[3][3], down[3][3], sum[3] = {};
      const bool at_border =
          x == 0 || y == 0 || z == 0 || x == n.x - 1 || y == n.y - 1 || z == n.z - 1;
      if (at_border) flux_beside(window, n, x, y, z, here, 0, 0, 0, own);
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        const int i = axis == 0   ? x
                      : axis == 1 ? y
                                  : z,
                  dx = axis == 0, dy = axis == 1, dz = axis == 2;
        const bool has_up = i + 1 < n[axis], has_down = i > 0;
        if (has_up) flux_beside(window, n, x, y, z, here, dx, dy, dz, up);
        if (has_down) flux_beside(window, n, x, y, z, here, -dx, -dy, -dz, down);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          const float difference =
              (has_up ? up[c][axis] : -own[c][axis]) - (has_down ? down[c][axis] : -own[c][axis]);
          sum[c] = axis == 0 ? difference : sum[c] + difference;
        }
      }
      body.store((std::size_t(z) * n.y + y) * n.x + x, sum);
    }
    __syncthreads();
  }
}

/// A kernel, its shared memory and its blocks.
struct Launch {
  void (*kernel)(KlForce, int);
  int threads_x, threads_y, outputs_x, outputs_y,
      overlap;  // overlap: planes that a chunk computes beyond its own
  std::size_t shared_bytes;
};

template <int TX, int TY>
Launch launch_of(KlKernel kernel) {
  if (kernel == KlKernel::reuse)
    return {kl_reuse_kernel<TX, TY>, TX, TY, TX - 2, TY - 2, 2, sizeof(ReuseWindow<TX, TY>)};
  return {kl_recompute_kernel<TX, TY>, TX, TY, TX, TY, 1, sizeof(RecomputeWindow<TX, TY>)};
}

Launch find_launch(KlKernel kernel, BlockShape shape) {
  Launch launch{};
#define CASE(X, Y) \
  if (shape == BlockShape{X, Y}) launch = launch_of<X, Y>(kernel);
  FREEFLOW_KL_SHAPES(CASE)
#undef CASE
  allow_shared_memory(launch.kernel);
  return launch;
}

int blocks_per_multiprocessor(const Launch& launch) {
  int blocks = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, reinterpret_cast<const void*>(launch.kernel), launch.threads_x * launch.threads_y,
      launch.shared_bytes));
  return blocks;
}

int multiprocessors() {
  int device = 0, count = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// Planes per chunk so that the waves of blocks, each as long as its chunk with its overlap, end
/// soonest.
int best_chunk(int blocks, int slices, int at_once, int overlap) {
  int best = slices;
  long least = -1;
  for (int chunks = 1; chunks <= slices; ++chunks) {
    const int chunk = (slices + chunks - 1) / chunks, actual = (slices + chunk - 1) / chunk;
    const long waves = (long(blocks) * actual + at_once - 1) / at_once,
               time = waves * (chunk + overlap + 2);
    if (least < 0 || time < least) best = chunk, least = time;
  }
  return best;
}

}  // namespace

void kl_force(backend::Cuda cuda, const KlForce& body, KlKernel kernel, BlockShape shape, float*) {
  const Extent n = body.u.extent;
  const Launch launch = find_launch(kernel, shape);
  const int across_x = (n.x + launch.outputs_x - 1) / launch.outputs_x,
            across_y = (n.y + launch.outputs_y - 1) / launch.outputs_y;
  const int at_once = std::max(1, blocks_per_multiprocessor(launch) * multiprocessors());
  const int chunk = best_chunk(across_x * across_y, n.z, at_once, launch.overlap);
  const dim3 blocks(across_x, across_y, (n.z + chunk - 1) / chunk);
  launch.kernel<<<blocks, dim3(launch.threads_x, launch.threads_y), launch.shared_bytes,
                  static_cast<cudaStream_t>(cuda.stream)>>>(body, chunk);
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
