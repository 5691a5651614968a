#include <freeflow/regularize/field_diffusion.h>

#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/field_diffusion_body.h>

namespace freeflow {

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
