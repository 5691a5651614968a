#include <apps/report_figures.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/error.h>
#include <freeflow/similarity/similarity_choice.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

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
                          const std::vector<float>* fixed_mask) {
  const Thinned thin(fixed.geometry(), 400'000);
  const Volume<float> still = thinned_fixed(ctx, fixed, thin, fixed_mask);
  const auto after = [&](const Transform& transform) {
    return information(ctx, still,
                       resample(ctx, moving, transform, thin.grid, Interpolation::linear, NAN));
  };
  Similarities s{after(Transform()), {}, {}};
  const bool moved = !affine.isApprox(Eigen::Affine3d::Identity(), 1e-9);
  s.affine = moved ? after(Transform(affine)) : s.before;
  s.after = displacement ? after(Transform(displacement->lend(), affine)) : s.affine;
  return s;
}

DisplacementRange displacement_range(Context& ctx, const DisplacementField& u) {
  const std::vector<float> copied = ctx.device().is_cuda() ? u.to_host(ctx) : std::vector<float>();
  const float* const planes = copied.empty() ? u.view().data : copied.data();
  const std::size_t count = u.extent().count();
  const Eigen::Vector3d spacing = u.geometry().spacing;
  const auto length = [&](std::size_t i) {
    return spacing
        .cwiseProduct(Eigen::Vector3d(double(planes[i]), double(planes[count + i]),
                                      double(planes[2 * count + i])))
        .norm();
  };
  // Sums of blocks, added up in their order.
  constexpr std::size_t block = 1 << 16;
  const std::size_t blocks = (count + block - 1) / block;
  std::vector<double> sums(blocks), longest(blocks);
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t i = b * block; i < std::min((b + 1) * block, count); ++i) {
      const double mm = length(i);
      sums[b] += mm;
      longest[b] = std::max(longest[b], mm);
    }
  DisplacementRange range;
  for (const double sum : sums) range.mean_mm += sum / double(count);
  range.max_mm = *std::ranges::max_element(longest);
  std::vector<double> some;
  const std::size_t stride = count / 100'000 | 1;
  some.reserve(count / stride + 1);
  for (std::size_t i = 0; i < count; i += stride) some.push_back(length(i));
  const auto at = some.begin() + std::ptrdiff_t(0.99 * double(some.size() - 1));
  std::ranges::nth_element(some, at);
  range.p99_mm = *at;
  return range;
}

}  // namespace freeflow::apps
