// Arithmetic with images and displacement fields on their device: what averages, shape updates and
// refinements are made of. Composition, inverse, exponential and resampling stand in
// field_operations.h; exact means of many in exact_mean.h. Nothing here waits unless said.
#pragma once

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>
#include <freeflow/deform/field_operations.h>

namespace freeflow {

/// a * x + b * y per voxel, on one grid. Throws InvalidArgument where the grids or the devices
/// differ.
DisplacementField linear_combination(Context& ctx, double a, const DisplacementField& x, double b,
                                     const DisplacementField& y);
Volume<float> linear_combination(Context& ctx, double a, const Volume<float>& x, double b,
                                 const Volume<float>& y);

inline DisplacementField add(Context& ctx, const DisplacementField& x, const DisplacementField& y) {
  return linear_combination(ctx, 1, x, 1, y);
}
inline Volume<float> add(Context& ctx, const Volume<float>& x, const Volume<float>& y) {
  return linear_combination(ctx, 1, x, 1, y);
}

DisplacementField scale(Context& ctx, double factor, const DisplacementField& x);
Volume<float> scale(Context& ctx, double factor, const Volume<float>& x);

inline DisplacementField negate(Context& ctx, const DisplacementField& x) {
  return scale(ctx, -1, x);
}
inline Volume<float> negate(Context& ctx, const Volume<float>& x) { return scale(ctx, -1, x); }

/// The mean length of a displacement in mm over the voxels whose mask is above 0.5 (on the field's
/// grid; null: all); 0 where there are none. Waits.
double mean_length_mm(Context& ctx, const DisplacementField& u,
                      const Volume<float>* mask = nullptr);

struct LogarithmOptions {
  int max_iterations = 30;
  double tolerance_voxels = 1e-3;  ///< ends when the mean residual is below this, or stops falling
};

struct Logarithm {
  DisplacementField velocity;  ///< v
  InverseResidual residual;    ///< |exp(-v)(phi(x)) - x| where phi(x) stays on the grid, in voxels
};

/// The stationary velocity v whose exponential comes nearest to phi(x) = x + u(x), by the fixed
/// point v <- v + log(exp(-v) o phi), the logarithm on the right to first order (Bossa, Hernandez
/// and Olmos 2007). Not every diffeomorphism has a logarithm: the residual is measured on the
/// result and says how near it came. A field that folds has none. Waits once per iteration.
Logarithm logarithm(Context& ctx, const DisplacementField& u, const LogarithmOptions& options = {});

}  // namespace freeflow
