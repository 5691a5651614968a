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

/// What a launch computes: outputs [first, end) along the axis, of the stack from `outer` on.
struct Part {
  int first, end, outer;
};

__device__ float component_scale(const Vec3f& scale, int component) {
  return component == 0 ? scale.x : component == 1 ? scale.y : scale.z;
}

__global__ void __launch_bounds__(threads)
    interpolate_runs_kernel(InterpolateAxisBody b, Part part) {
  const int x = blockIdx.x * threads + threadIdx.x, outer = part.outer + int(blockIdx.z);
  if (x >= b.inner) return;
  const float scale = component_scale(b.scale, outer / b.outer_per_component);
  const std::size_t inner = b.inner;
  const float* in = b.in + std::size_t(outer) * b.in_size * inner + x;
  float* out = b.out + std::size_t(outer) * b.out_size * inner + x;
  const int begin = part.first + int(blockIdx.y) * evaluated_run,
            end = min(begin + evaluated_run, part.end);
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

__global__ void __launch_bounds__(threads) gather_runs_kernel(GatherAxisBody b, Part part) {
  const int x = blockIdx.x * threads + threadIdx.x, outer = part.outer + int(blockIdx.z);
  if (x >= b.inner) return;
  const std::size_t inner = b.inner;
  const int first_output = part.first + int(blockIdx.y) * gathered_run,
            last_output = min(first_output + gathered_run, part.end) - 1;
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
void launch_runs(backend::Cuda cuda, void (*kernel)(Body, Part), const Body& body, int run,
                 int outers) {
  const bool along_z = body.outer_per_component == 1;
  const auto runs = [&](int outputs) { return unsigned(outputs + run - 1) / unsigned(run); };
  dim3 grid((body.inner + threads - 1) / threads, runs(body.out_size), outers);
  // Slices are outputs along z, or those of the stack of components.
  const Dealt dealt{unsigned(along_z ? body.out_size : outers),
                    std::size_t(grid.x) * grid.y * grid.z,
                    along_z ? 1u : unsigned(outers / body.outer_per_component)};
  for_each_share(cuda, dealt, [&](const Share& share, int) {
    const int first = int(share.first), end = int(share.end);
    if (along_z)
      grid.y = runs(end - first);
    else
      grid.z = share.count();
    kernel<<<grid, threads, 0, share.stream>>>(
        body, along_z ? Part{first, end, 0} : Part{0, body.out_size, first});
  });
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
