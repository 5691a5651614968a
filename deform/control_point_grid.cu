// The long passes walk runs instead of single outputs; the sums and their order are the body's, so
// the bits are too. Evaluation: neighbouring voxels share their four coefficients (five voxels to a
// knot by default), so a thread computes a run along the axis and reloads only where the knot
// interval changes. Adjoint: a voxel reaches four coefficients, so a thread gathers four
// neighbouring ones and reads each voxel once for them instead of once for each.
#include <freeflow/deform/control_point_grid_body.h>
#include <freeflow/core/for_each_voxel.cuh>

namespace freeflow {

namespace {

constexpr int evaluated_run = 8, gathered_run = 4, threads = 128;

/// Of a part of the grid: along the axis, and of the stack.
struct FirstBlock {
  unsigned run, outer;
};

__device__ float component_scale(const Vec3f& scale, int component) {
  return component == 0 ? scale.x : component == 1 ? scale.y : scale.z;
}

__global__ void __launch_bounds__(threads)
    interpolate_runs_kernel(InterpolateAxisBody b, FirstBlock first) {
  const int x = blockIdx.x * threads + threadIdx.x, outer = first.outer + blockIdx.z;
  if (x >= b.inner) return;
  const float scale = component_scale(b.scale, outer / b.outer_per_component);
  const std::size_t inner = b.inner;
  const float* in = b.in + std::size_t(outer) * b.in_size * inner + x;
  float* out = b.out + std::size_t(outer) * b.out_size * inner + x;
  const int begin = (first.run + blockIdx.y) * evaluated_run,
            end = min(begin + evaluated_run, b.out_size);
  int cell = -1;
  float c[4] = {};
  for (int i = begin; i < end; ++i) {
    const int first = b.taps.first[i];
    if (first != cell) {
      cell = first;
      for (int k = 0; k < 4; ++k) c[k] = in[(first + k) * inner];
    }
    const float4 w = reinterpret_cast<const float4*>(b.taps.weights)[i];
    const float sum = fma_(w.w, c[3], fma_(w.z, c[2], fma_(w.y, c[1], w.x * c[0])));
    out[i * inner] = scale * sum;
  }
}

__global__ void __launch_bounds__(threads) gather_runs_kernel(GatherAxisBody b, FirstBlock first) {
  const int x = blockIdx.x * threads + threadIdx.x, outer = first.outer + blockIdx.z;
  if (x >= b.inner) return;
  const std::size_t inner = b.inner;
  const int first_output = (first.run + blockIdx.y) * gathered_run,
            last_output = min(first_output + gathered_run, b.out_size) - 1;
  const int begin = b.taps.begin[first_output], end = b.taps.begin[last_output + 4];
  const float* v = b.in + (std::size_t(outer) * b.in_size + begin) * inner + x;
  float sum[gathered_run] = {};
#pragma unroll 4
  for (int i = begin; i < end; ++i, v += inner) {
    const float value = *v;
    const int offset = first_output - b.taps.first[i];
#pragma unroll
    for (int r = 0; r < gathered_run; ++r)
      if (unsigned(offset + r) < 4u)
        sum[r] = fma_(b.taps.weights[4 * i + offset + r], value, sum[r]);
  }
  const float scale = component_scale(b.scale, outer / b.outer_per_component);
  float* out = b.out + (std::size_t(outer) * b.out_size + first_output) * inner + x;
#pragma unroll
  for (int r = 0; r < gathered_run; ++r)
    if (first_output + r <= last_output) out[r * inner] = scale * sum[r];
}

template <class Body>
void launch_runs(backend::Cuda cuda, void (*kernel)(Body, FirstBlock), const Body& body, int run,
                 int outers) {
  dim3 grid((body.inner + threads - 1) / threads, (body.out_size + run - 1) / run, outers);
  if (body.outer_per_component == 1) {  // the z axis: runs lie along it
    const int slices = band_slices({body.inner, 1, body.out_size});
    const Dealt runs{grid.y, grid.x * grid.z, 1, unsigned(std::max(1, slices / run))};
    for_each_share(cuda, runs, [&](const Share& share, int) {
      grid.y = share.count;
      kernel<<<grid, threads, 0, share.stream>>>(body, FirstBlock{share.first, 0});
    });
  } else {
    const unsigned slices = unsigned(body.outer_per_component);
    const int band = band_slices({body.inner, body.out_size, int(slices)});
    const Dealt stack{slices, grid.x * grid.y, grid.z / slices, unsigned(band)};
    for_each_share(cuda, stack, [&](const Share& share, int) {
      grid.z = share.count;
      kernel<<<grid, threads, 0, share.stream>>>(body, FirstBlock{0, share.first});
    });
  }
}

}  // namespace

template <>
void for_each_voxel(backend::Cuda cuda, Extent extent, const InterpolateAxisBody& body) {
  launch_runs(cuda, interpolate_runs_kernel, body, evaluated_run, extent.z);
}

template <>
void for_each_voxel(backend::Cuda cuda, Extent extent, const GatherAxisBody& body) {
  launch_runs(cuda, gather_runs_kernel, body, gathered_run, extent.z);
}

template void for_each_voxel(backend::Cuda, Extent, const InterpolateAlongXBody&);
template void for_each_voxel(backend::Cuda, Extent, const GatherSlicesBody&);
template void for_each_voxel(backend::Cuda, Extent, const GatherAlongXBody&);
template void for_each_voxel(backend::Cuda, Extent, const RefineAxisBody&);
template void for_each_voxel(backend::Cuda, Extent, const SplineJacobianBody&);

}  // namespace freeflow
