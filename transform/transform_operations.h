// Transforms as fields: composed onto a grid, inverted, and how they change volumes.
#pragma once

#include <span>

#include <freeflow/deform/field_operations.h>
#include <freeflow/transform/transform.h>

namespace freeflow {

/// The displacement of the whole chain, affines included, on a grid: x + u(x) = transform(x).
DisplacementField compose(Context& ctx, const Transform& transform, const Geometry& grid);

/// A field's grid, grown by whole voxels until it holds every point that the field leads to: what
/// the field's inverse needs. `planes`: the field, in voxels, x fastest, component slowest. Throws
/// InvalidArgument where that is a million voxels farther. On so many threads, 0 for all.
Geometry grid_of_range(const Geometry& grid, std::span<const float> planes, int threads = 0);

/// The same transform with the affines that its fields hold behind them (split_affine()). What is
/// to be inverted or to be registered on needs it: a solver that starts at -u, or penalizes u,
/// takes turns for deformations. Copies the fields to the host.
Transform split_affines(Context& ctx, const Transform& transform);

/// The same transform (split_affines()) on the grids of its fields, whose fields go on to
/// grid_of_range() as they are at their borders; where that is no larger, nothing is copied. To be
/// inverted: a field that holds a shift as well leads beyond its grid.
Transform on_ranges(Context& ctx, const Transform& transform);

struct InverseTransform {
  Transform transform;
  double mean_residual_voxels = 0, largest_residual_voxels = 0;  ///< the largest of its fields'
};

/// The chain backwards: inverse affines, those that its fields hold among them (split_affines()),
/// and the inverse of each field on the field's own grid (of all that it leads to: on_ranges()),
/// with the residual measured. Throws InvalidArgument for a singular affine, Cancelled when asked
/// to stop.
InverseTransform invert(Context& ctx, const Transform& chain, const StopRequest& stop = {});

/// det(d transform / dx) on a grid, dimensionless: of fields and affines together, by central
/// differences. Its logarithm: NaN where the determinant is not positive.
Volume<float> jacobian_determinant(Context& ctx, const Transform& transform, const Geometry& grid);
Volume<float> log_jacobian(Context& ctx, const Transform& transform, const Geometry& grid);

}  // namespace freeflow
