// Resampling an image through a transform: warped(x) = moving(M (x + u(x))), in voxels of the two
// grids.
#pragma once

#include <Eigen/Geometry>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

enum class Interpolation {
  nearest,  ///< the nearest voxel: labels, masks
  linear,   ///< trilinear; of a cell with missing voxels the mean of the others by their weights
  cubic     ///< cubic B-spline through the samples (prefiltered); may overshoot. A missing voxel is
            ///< taken to have the value of the next one along x, else y, else z.
};

/// Samples `moving` at world(x + u(x)) for every voxel x of `grid`.
/// world: maps points of the grid's space to the moving space (mm, LPS). u: on `grid`, or null for
/// no displacement. Voxels that fall outside, or nearest to one that is missing (NaN or infinite),
/// become `fill`, by every interpolation the same ones. Throws InvalidArgument when u lies on
/// another grid, and as Geometry::validate does of what is indexed with.
Volume<float> warp(Context& ctx, const Volume<float>& moving, const Geometry& grid,
                   const Eigen::Affine3d& world, const DisplacementField* u,
                   Interpolation interpolation, float fill);

/// Samples `image` at p + v(p), p = before(y), for every voxel y of `grid`: first the affine
/// (world, mm, LPS), then a displacement on a grid of its own, sampled linearly and extended by its
/// border values. With the inverse affine and the inverse displacement this carries the fixed image
/// to the moving one. Throws as warp does.
Volume<float> warp_through(Context& ctx, const Volume<float>& image, const Geometry& grid,
                           const Eigen::Affine3d& before, const DisplacementField& v,
                           Interpolation interpolation, float fill);

/// Moves an image to the coefficients of its interpolating cubic B-spline, in place (Unser 1999,
/// mirror boundary), missing voxels filled first.
void bspline_prefilter(Context& ctx, VolumeView<float> image);

/// Trilinear warp into planes that exist: warped(x) (NaN outside) and its gradient with respect to
/// u(x), per voxel of u's grid. `map` is the index map of core/geometry.h. The workhorse of the
/// similarity measures; allocates nothing.
void warp_with_gradient(Context& ctx, VolumeView<const float> moving, const PointMap& map,
                        FieldView<const float> u, VolumeView<float> warped,
                        FieldView<float> gradient);
/// The same without the gradient. u and `warped` may be of some slices alone, from `first` on.
void warp_values(Context& ctx, VolumeView<const float> moving, const PointMap& map,
                 FieldView<const float> u, VolumeView<float> warped, int first = 0);
/// The same by the cubic B-spline of `coefficients`, the prefiltered moving image.
void warp_values_cubic(Context& ctx, VolumeView<const float> moving,
                       VolumeView<const float> coefficients, const PointMap& map,
                       FieldView<const float> u, VolumeView<float> warped, int first = 0);

}  // namespace freeflow
