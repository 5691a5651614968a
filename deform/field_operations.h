// Operations on dense displacement fields: composition, inverse, Jacobian, resampling. Fields are
// extended beyond their grid by their border values. All throw InvalidArgument for memory of
// another device, grids that differ where they must not, and as Geometry::validate does.
#pragma once

#include <freeflow/core/cancelled.h>
#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// The displacement of x -> first(x) followed by second: w(x) = u1(x) + u2(x + u1(x)). Both on one
/// grid.
DisplacementField compose(Context& ctx, const DisplacementField& first,
                          const DisplacementField& second);

/// The displacement of the flow along a stationary velocity v, by scaling and squaring (Arsigny
/// 2006): time * v / 2^squarings, composed with itself `squarings` times. That of time -1 is the
/// inverse of time 1. Velocities up to 2^(squarings - 1) voxels are exact enough.
inline constexpr int exponential_squarings = 7;
DisplacementField exponential(Context& ctx, const DisplacementField& v,
                              int squarings = exponential_squarings, double time = 1);
/// The same into `u`; `spare` is overwritten. Neither allocates nor waits. The three must not
/// overlap.
void exponential(Context& ctx, FieldView<const float> v, FieldView<float> u, FieldView<float> spare,
                 int squarings = exponential_squarings, double time = 1);

struct InverseOptions {
  int max_iterations = 20;         ///< Newton steps per voxel; most need three
  double tolerance_voxels = 1e-3;  ///< of the equation at the inverse's own voxels
  int corrections = 2;             ///< rounds that spread what is left between them
};

/// |u(x) + v(x + u(x))| over the grid, in voxels, where x + u(x) stays on the grid.
struct InverseResidual {
  double mean_voxels = 0, max_voxels = 0;
};

struct Inverse {
  DisplacementField field;
  InverseResidual residual;
};

/// v with y + v(y) + u(y + v(y)) = y, per voxel, by Newton's method with backtracking on the
/// trilinear u. Unlike the usual fixed point v <- -u(x + v) it also converges where u is no
/// contraction. The residual is measured on the result, never assumed: where u folds there is no
/// inverse, and it says so. An inverse that is exact at its voxels is still wrong between them,
/// where it is interpolated; each correction v(y) -= r(y + v(y)), r(x) = u(x) + v(x + u(x)), evens
/// that out. Throws Cancelled when asked to stop.
Inverse invert(Context& ctx, const DisplacementField& u, const InverseOptions& options = {},
               const StopRequest& stop = {});

/// Measures how well v inverts u.
InverseResidual inverse_residual(Context& ctx, const DisplacementField& u,
                                 const DisplacementField& v);

/// Of det(I + grad u), dimensionless.
struct JacobianStatistics {
  double min = 1, max = 1;          ///< by central differences
  double mean_log = 0, sd_log = 0;  ///< the same, over voxels where it is positive

  /// Central differences jump over a voxel that passes its neighbour. A map of voxels is one to one
  /// between them only if the eight determinants by forward or backward differences along each axis
  /// are positive (Liu et al. 2024, On finite difference Jacobian computation in deformable image
  /// registration): D^{+-+} = det(I + (D^+_x u, D^-_y u, D^+_z u)) and so on, each the volume of a
  /// corner of the voxel. Their mean is the determinant by central differences.
  double corner_min = 1;          ///< the smallest of all; at the border of those that exist
  std::size_t folded_voxels = 0;  ///< with a corner's determinant <= 0
};

/// det(I + grad u) per voxel, central differences (one-sided at the border), dimensionless.
Volume<float> jacobian_determinant(Context& ctx, const DisplacementField& u);
JacobianStatistics jacobian_statistics(Context& ctx, const DisplacementField& u);

/// The same world displacement sampled linearly on another grid of any orientation, in voxels of
/// that grid.
DisplacementField resample(Context& ctx, const DisplacementField& u, const Geometry& grid);

}  // namespace freeflow
