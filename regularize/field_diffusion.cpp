#include <freeflow/regularize/field_diffusion.h>

#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/regularize/field_diffusion_body.h>

namespace freeflow {

/// The CPU goes along rows. Between its ends a row has no border along x; across the others a
/// voxel stands for the neighbour that is missing, with no difference to itself.
template <>
void for_each_voxel(backend::Cpu cpu, Extent n, const DiffusionBody& body) {
  for_each_piece(cpu, n, n.x, [&](int, int y, int z, int) {
    const DiffusionBody local = body;
    const std::ptrdiff_t row = n.x, slice = row * n.y, up_y = y + 1 < n.y ? row : 0,
                         up_z = z + 1 < n.z ? slice : 0, down_y = y > 0 ? row : 0,
                         down_z = z > 0 ? slice : 0;
    const std::size_t first = n.offset(0, y, z);
    const float* const g = local.conductance + first;
    const float tx = local.time[0], ty = local.time[1], tz = local.time[2];
    for (int c = 0; c < 3; ++c) {
      const float* const p = local.u.data + c * n.count() + first;
      float* const out = local.out.data + c * n.count() + first;
#pragma GCC ivdep
      for (int x = 1; x < n.x - 1; ++x) {
        const float v = p[x];
        float sum = v;
        sum = fma_(tx * g[x], p[x + 1] - v, sum);
        sum = fma_(ty * g[x], p[x + up_y] - v, sum);
        sum = fma_(tz * g[x], p[x + up_z] - v, sum);
        sum = fma_(tx * g[x - 1], p[x - 1] - v, sum);
        sum = fma_(ty * g[x - down_y], p[x - down_y] - v, sum);
        sum = fma_(tz * g[x - down_z], p[x - down_z] - v, sum);
        out[x] = sum;
      }
    }
    local(0, y, z);
    if (n.x > 1) local(n.x - 1, y, z);
  });
}

FieldDiffusion::FieldDiffusion(Context& ctx, const Geometry& grid)
    : grid_(grid), conductance_(ctx, grid.extent.count()) {}

void FieldDiffusion::apply(Context& ctx, FieldView<float> in, FieldView<float> out,
                           double share) const {
  float* const g = conductance_.data();
  const Eigen::Vector3d sides = grid_.spacing / grid_.spacing.minCoeff(),
                        t = share * time * sides.cwiseSqrt().cwiseInverse();
  for_each_voxel(ctx, grid_.extent, ConductanceBody{in, float(1 / (slope * slope)), g});
  for (int pass = 0; pass < passes; ++pass) {
    for_each_voxel(ctx, grid_.extent,
                   DiffusionBody{in, g, {float(t[0]), float(t[1]), float(t[2])}, out});
    std::swap(in, out);
  }
}

}  // namespace freeflow
