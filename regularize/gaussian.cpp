#include <freeflow/regularize/gaussian.h>

#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/gaussian_body.h>

namespace freeflow {

GaussianWindow gaussian_window(double sigma, double centre) {
  GaussianWindow window;
  window.first = int(std::floor(centre - 4 * sigma));
  const int last = int(std::ceil(centre + 4 * sigma));
  const auto at = [&](int j) {
    return std::exp(-0.5 * (j - centre) * (j - centre) / (sigma * sigma));
  };
  double total = 0;
  for (int j = window.first; j <= last; ++j) total += at(j);
  for (int j = window.first; j <= last; ++j) window.weights.push_back(float(at(j) / total));
  return window;
}

namespace {

/// Smooths one axis about the centres factor * i + (factor - 1) / 2 and samples there.
Volume<float> window_axis(Context& ctx, const Volume<float>& in, int axis, int factor,
                          double sigma) {
  std::array<int, 3> factors{1, 1, 1};
  factors[axis] = factor;
  Volume<float> out(ctx, decimated(in.geometry(), factors));
  const double centre = 0.5 * (factor - 1);
  const GaussianWindow window = gaussian_window(sigma, centre);
  const Buffer<float> weights(ctx, window.weights);
  for_each_voxel(ctx, out.extent(),
                 WindowAxisBody{in.view(), out.view(), axis, factor, int(weights.size()),
                                window.first, weights.data()});
  return out;
}

}  // namespace

Volume<float> gaussian(Context& ctx, const Volume<float>& image,
                       const Eigen::Vector3d& sigma_voxels) {
  require(sigma_voxels.allFinite() && sigma_voxels.minCoeff() >= 0,
          "a Gaussian's sigma must not be negative");
  require_on_device(ctx, image);
  Volume<float> result = image.clone(ctx);
  for (int axis = 0; axis < 3; ++axis)
    if (sigma_voxels[axis] > 0) result = window_axis(ctx, result, axis, 1, sigma_voxels[axis]);
  return result;
}

Geometry decimated(const Geometry& grid, const std::array<int, 3>& factor) {
  Geometry g = grid;
  g.extent = {(grid.extent.x + factor[0] - 1) / factor[0],
              (grid.extent.y + factor[1] - 1) / factor[1],
              (grid.extent.z + factor[2] - 1) / factor[2]};
  Eigen::Vector3d shift;
  for (int a = 0; a < 3; ++a) {
    g.spacing[a] = grid.spacing[a] * factor[a];
    shift[a] = 0.5 * (factor[a] - 1) * grid.spacing[a];
  }
  g.origin = grid.origin + grid.direction * shift;
  return g;
}

Volume<float> decimate(Context& ctx, const Volume<float>& image, const std::array<int, 3>& factor) {
  require_on_device(ctx, image);
  Volume<float> result;
  const Volume<float>* source = &image;
  for (int axis = 2; axis >= 0; --axis)
    if (factor[axis] > 1) {
      result = window_axis(ctx, *source, axis, factor[axis],
                           0.5 * std::sqrt(double(factor[axis]) * factor[axis] - 1));
      source = &result;
    }
  return source == &image ? image.clone(ctx) : std::move(result);
}

}  // namespace freeflow
