#include <freeflow/registration/search/search_images.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <freeflow/deform/warp.h>
#include <freeflow/registration/levels/image_channels.h>
#include <freeflow/regularize/gaussian.h>
#include <freeflow/similarity/mind.h>

namespace freeflow {

namespace {

constexpr int widest_cell = 4;  // voxels

Eigen::Vector3d sides_of(const Geometry& g) {
  return g.spacing.cwiseProduct(Eigen::Vector3d(g.extent.x, g.extent.y, g.extent.z));
}

double mean_side(const Eigen::Vector3d& sides) { return std::cbrt(sides.prod()); }

/// A slab shows a part of something larger: its thin side counts as half of its longest.
double object_side(const Eigen::Vector3d& sides) {
  return mean_side(sides.cwiseMax(0.5 * sides.maxCoeff()));
}

/// Voxels merged along each axis to come near a size.
Factors factors_near(const Geometry& g, double mm) {
  Factors f;
  for (int a = 0; a < 3; ++a)
    f[a] = std::clamp(int(std::lround(mm / g.spacing[a])), 1, std::max(1, g.extent[a] / 8));
  return f;
}

}  // namespace

WorkingImages::WorkingImages(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                             const Eigen::Affine3d& affine, double voxels, double reach,
                             const std::vector<double>& weights)
    : object_mm_(object_side(sides_of(fixed.geometry()))) {
  const double mm = mean_side(sides_of(fixed.geometry())) / voxels,
               moving_mm = mm * std::cbrt(std::abs(affine.linear().determinant()));
  const PreparedImage::Steps to_fixed{factors_near(fixed.geometry(), mm)},
      to_moving{factors_near(moving.geometry(), moving_mm)};
  core_ = decimated(fixed.geometry(), to_fixed[0]);
  const Extent n = core_.extent;
  const double farthest = reach * std::max({n.x, n.y, n.z});
  window_.step = std::max(1, int(std::ceil(farthest / SearchWindow::largest_reach)));
  grid_ = core_;
  for (int a = 0; a < 3; ++a) {
    window_.reach[a] =
        std::clamp(int(std::ceil(reach * n[a] / window_.step)), 1, SearchWindow::largest_reach);
    margin_[a] = window_.reach[a] * window_.step + widest_cell;
  }
  grid_.extent = {n.x + 2 * margin_[0], n.y + 2 * margin_[1], n.z + 2 * margin_[2]};
  grid_.origin = core_.index_to_world() * Eigen::Vector3d(-margin_[0], -margin_[1], -margin_[2]);
  const std::size_t n_channels = weights.size();
  for (std::size_t c = 0; c < n_channels; ++c) {
    Buffer<MindRecord> of_fixed =
        describe(ctx, fixed.channel(c), to_fixed, Eigen::Affine3d::Identity(),
                 channel_name("the fixed image", c, n_channels).c_str());
    Buffer<MindRecord> of_moving =
        describe(ctx, moving.channel(c), to_moving, affine,
                 channel_name("the moving image", c, n_channels).c_str());
    channels_.push_back({std::move(of_fixed), std::move(of_moving), weights[c]});
  }
}

Buffer<MindRecord> WorkingImages::describe(Context& ctx, PreparedImage& image,
                                           const PreparedImage::Steps& steps,
                                           const Eigen::Affine3d& world, const char* what) const {
  const IntensityRange& range = image.range(ctx, {}, what);
  const Volume<float> on_grid =
      warp(ctx, image.level(ctx, steps), grid_, world, nullptr, Interpolation::linear, NAN);
  return mind_descriptors(ctx, on_grid, range, {});
}

SearchImages WorkingImages::images() const {
  SearchImages all{{}, {margin_[0], margin_[1], margin_[2]}, core_.spacing};
  for (const Channel& c : channels_)
    all.channels.push_back(
        {{c.fixed.data(), grid_.extent}, {c.moving.data(), grid_.extent}, c.weight});
  return all;
}

Geometry WorkingImages::cells(int width) const { return decimated(core_, {width, width, width}); }

}  // namespace freeflow
