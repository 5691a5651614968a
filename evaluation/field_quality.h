// What can be said of a displacement field without an image: where it folds, how much it changes
// volumes, how far it goes, and how well another undoes it. In double on the host; the same bits
// for any number of threads.
#pragma once

#include <limits>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// J is det(I + grad u), dimensionless. Figures over no voxel are NaN.
struct FieldQuality {
  std::size_t voxels = 0;  ///< that count
  /// J by central differences, one-sided at the border, 0 along an axis of one voxel.
  std::size_t folded_voxels = 0;  ///< J <= 0
  double jacobian_min = std::numeric_limits<double>::quiet_NaN();
  double jacobian_max = std::numeric_limits<double>::quiet_NaN();
  double mean_log_jacobian = std::numeric_limits<double>::quiet_NaN();  ///< where J > 0
  double sd_log_jacobian = std::numeric_limits<double>::quiet_NaN();    ///< where J > 0

  /// The smallest of the eight J by forward or backward differences along each axis, at voxels with
  /// neighbours on all sides: it sees the folds that central differences jump over (Liu et al.
  /// 2024, On finite difference Jacobian computation in deformable image registration).
  std::size_t inner_voxels = 0;  ///< that count and have all neighbours
  std::size_t corner_folds = 0;  ///< the smallest J <= 0
  double corner_jacobian_min = std::numeric_limits<double>::quiet_NaN();

  double mean_mm = std::numeric_limits<double>::quiet_NaN();  ///< length of the displacement
  double max_mm = std::numeric_limits<double>::quiet_NaN();
};

/// Over the voxels where `mask` is above 0.5, or all of them. Throws InvalidArgument when the mask
/// does not share the field's grid.
FieldQuality field_quality(Context& ctx, const DisplacementField& u,
                           const Volume<float>* mask = nullptr);

/// |u(x) + v(x + u(x))|, in voxels of u's grid. Figures over no voxel are NaN.
struct InverseQuality {
  std::size_t voxels = 0;
  double mean_voxels = std::numeric_limits<double>::quiet_NaN();
  double p99_voxels = std::numeric_limits<double>::quiet_NaN();
  double max_voxels = std::numeric_limits<double>::quiet_NaN();
};

/// How well v undoes u, each on a grid of its own, at the voxels of u's grid that lie `margin` or
/// more from its border and where `mask`, on that grid, is above 0.5. v is linear between its
/// voxels and goes on beyond its grid with its border's values. Throws InvalidArgument where it is
/// empty, for a negative margin and when the mask does not share u's grid. (inverse_residual,
/// deform/field_operations.h, wants one grid, counts the voxels that stay on it, and also runs on
/// the GPU.)
InverseQuality inverse_quality(Context& ctx, const DisplacementField& u, const DisplacementField& v,
                               int margin = 4, const Volume<float>* mask = nullptr);

}  // namespace freeflow
