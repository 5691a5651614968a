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
    const float time = local.time;
    for (int c = 0; c < 3; ++c) {
      const float* const p = local.u.data + c * n.count() + first;
      float* const out = local.out.data + c * n.count() + first;
#pragma GCC ivdep
      for (int x = 1; x < n.x - 1; ++x) {
        const float v = p[x], after = time * g[x];
        float sum = v;
        sum = fma_(after, p[x + 1] - v, sum);
        sum = fma_(after, p[x + up_y] - v, sum);
        sum = fma_(after, p[x + up_z] - v, sum);
        sum = fma_(time * g[x - 1], p[x - 1] - v, sum);
        sum = fma_(time * g[x - down_y], p[x - down_y] - v, sum);
        sum = fma_(time * g[x - down_z], p[x - down_z] - v, sum);
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
  ConductanceBody conductance{in, {}, g};
  for (int c = 0; c < 3; ++c)
    for (int a = 0; a < 3; ++a) {
      const double per_slope = grid_.spacing[c] / grid_.spacing[a] / slope;
      conductance.per_slope[c][a] = float(per_slope * per_slope);
    }
  for_each_voxel(ctx, grid_.extent, conductance);
  for (int pass = 0; pass < passes; ++pass) {
    for_each_voxel(ctx, grid_.extent, DiffusionBody{in, g, float(share * time), out});
    std::swap(in, out);
  }
}

}  // namespace freeflow
