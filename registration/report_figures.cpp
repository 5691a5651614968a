#include <freeflow/registration/report_figures.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/core/spread_stride.h>
#include <freeflow/registration/report_figures_body.h>
#include <freeflow/similarity/similarity_choice.h>
#include <freeflow/transform/resample.h>

namespace freeflow {

namespace {

/// The same grid with voxels left out, so that those that stay lie about equally far apart.
struct Thinned {
  Geometry grid;
  int step[3] = {1, 1, 1};

  Thinned(const Geometry& g, double wanted_voxels) : grid(g) {
    const Eigen::Vector3d sides(g.extent.x * g.spacing.x(), g.extent.y * g.spacing.y(),
                                g.extent.z * g.spacing.z());
    const double apart_mm = std::cbrt(sides.prod() / wanted_voxels);
    int n[3];
    for (int a = 0; a < 3; ++a) {
      step[a] = std::clamp(int(std::lround(apart_mm / g.spacing[a])), 1, g.extent[a]);
      n[a] = (g.extent[a] + step[a] - 1) / step[a];
      grid.spacing[a] *= step[a];
    }
    grid.extent = {n[0], n[1], n[2]};
  }
};

/// Outside the mask no voxel has a value.
Volume<float> thinned_fixed(Context& ctx, const Volume<float>& fixed, const Thinned& thin,
                            const std::vector<float>* mask) {
  Volume<float> image = resample(ctx, fixed, Transform(), thin.grid, Interpolation::nearest, NAN);
  if (!mask) return image;
  std::vector<float> voxels = image.to_host(ctx);
  const Extent n = thin.grid.extent, whole = fixed.extent();
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x)
        if (!((*mask)[whole.offset(x * thin.step[0], y * thin.step[1], z * thin.step[2])] > 0.5F))
          voxels[n.offset(x, y, z)] = NAN;
  return {ctx, thin.grid, voxels};
}

std::optional<double> information(Context& ctx, const Volume<float>& fixed,
                                  const Volume<float>& warped) {
  SimilarityChoice choice;
  choice.kind = SimilarityKind::nmi;
  const auto measure = make_similarity(choice);
  try {
    measure->read_ranges(ctx, fixed, warped);
  } catch (const RegistrationError&) {
    return {};  // constant, or nowhere on the fixed grid
  }
  measure->prepare(
      ctx,
      {fixed, warped, index_map(fixed.geometry(), Eigen::Affine3d::Identity(), warped.geometry())});
  Buffer<double> cost(ctx, 1);
  measure->evaluate(ctx, {}, {}, cost.data());
  const double value = -cost.to_host(ctx).front();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Similarities similarities(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                          const Eigen::Affine3d& affine, const DisplacementField* displacement,
                          const MasksOnHost& masks) {
  const Thinned thin(fixed.geometry(), 400'000);
  const Volume<float> still = thinned_fixed(ctx, fixed, thin, masks.fixed);
  Volume<float> masked;
  if (masks.moving) {
    std::vector<float> voxels = moving.to_host(ctx);
    for (std::size_t i = 0; i < voxels.size(); ++i)
      if (!((*masks.moving)[i] > 0.5F)) voxels[i] = NAN;
    masked = {ctx, moving.geometry(), voxels};
  }
  const Volume<float>& seen = masks.moving ? masked : moving;
  const auto after = [&](const Transform& transform) {
    return information(ctx, still,
                       resample(ctx, seen, transform, thin.grid, Interpolation::linear, NAN));
  };
  Similarities s{after(Transform()), {}, {}};
  const bool moved = !affine.isApprox(Eigen::Affine3d::Identity(), 1e-9);
  s.affine = moved ? after(Transform(affine)) : s.before;
  s.after = displacement ? after(Transform(displacement->lend(), affine)) : s.affine;
  return s;
}

DisplacementRange displacement_range(Context& ctx, const DisplacementField& u) {
  require_on_device(ctx, u);
  constexpr std::size_t enough = 100'000;
  const std::size_t count = u.extent().count(), stride = spread_stride(u.extent(), count, enough);
  const Eigen::Vector3d sides = u.geometry().spacing;
  const LengthOfDisplacement length{u.view(), {sides.x(), sides.y(), sides.z()}};
  const Buffer<double> found(ctx, 2), some(ctx, (count + stride - 1) / stride);
  const ReduceWorkspace work(ctx, count, 1);
  reduce(ctx, count, 1, LengthSumBody{{}, length}, work, found.data());
  reduce(ctx, count, 1, LargestLengthBody{{}, length}, work, found.data() + 1);
  for_each_voxel(ctx, Extent{int(some.size()), 1, 1}, SomeLengthsBody{length, stride, some.data()});
  const std::vector<double> sum_and_largest = found.to_host(ctx);
  std::vector<double> lengths = some.to_host(ctx);
  const auto at = lengths.begin() + std::ptrdiff_t(0.99 * double(lengths.size() - 1));
  std::ranges::nth_element(lengths, at);
  return {sum_and_largest[0] / double(count), sum_and_largest[1], *at};
}

}  // namespace freeflow
