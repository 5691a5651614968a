// Gaussian smoothing of a scalar volume by direct separable sums, with decimation for the pyramid.
// NaN voxels have no value: a sum is over the others, divided by their weights; where these make
// less than a quarter along an axis, the result is NaN (half may be missing at the border alone).
// Fields, which have a value everywhere, are smoothed by smoother.h.
#pragma once

#include <array>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

/// Samples of a Gaussian, cut at 4 sigma, that sum to 1.
struct GaussianWindow {
  int first = 0;  ///< position of the first weight
  std::vector<float> weights;
};
GaussianWindow gaussian_window(double sigma, double centre = 0);

/// Smooths with a standard deviation per axis in voxels (0: leave the axis alone), window cut at 4
/// sigma.
Volume<float> gaussian(Context& ctx, const Volume<float>& image,
                       const Eigen::Vector3d& sigma_voxels);

/// The grid whose voxels each cover `factor` voxels of `grid` per axis.
Geometry decimated(const Geometry& grid, const std::array<int, 3>& factor);

/// Smooths against aliasing (sigma = sqrt(factor^2 - 1) / 2 voxels) and samples on
/// decimated(geometry, factor).
Volume<float> decimate(Context& ctx, const Volume<float>& image, const std::array<int, 3>& factor);

}  // namespace freeflow
