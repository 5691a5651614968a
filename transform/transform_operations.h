// Transforms as fields: composed onto a grid, inverted, and how they change volumes.
#pragma once

#include <freeflow/deform/field_operations.h>
#include <freeflow/transform/transform.h>

namespace freeflow {

/// The displacement of the whole chain, affines included, on a grid: x + u(x) = transform(x).
DisplacementField compose(Context& ctx, const Transform& transform, const Geometry& grid);

struct InverseTransform {
  Transform transform;
  double mean_residual_voxels = 0, largest_residual_voxels = 0;  ///< the largest of its fields'
};

/// The chain backwards: inverse affines, and the inverse of each field on the field's own grid,
/// with the residual measured. Throws InvalidArgument for a singular affine, Cancelled when asked
/// to stop.
InverseTransform invert(Context& ctx, const Transform& transform, const StopRequest& stop = {});

/// det(d transform / dx) on a grid, dimensionless: of fields and affines together, by central
/// differences. Its logarithm: NaN where the determinant is not positive.
Volume<float> jacobian_determinant(Context& ctx, const Transform& transform, const Geometry& grid);
Volume<float> log_jacobian(Context& ctx, const Transform& transform, const Geometry& grid);

}  // namespace freeflow
