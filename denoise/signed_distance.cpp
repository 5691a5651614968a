#include <freeflow/denoise/signed_distance.h>

#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/denoise/numbered.h>
#include <freeflow/denoise/signed_distance_body.h>

namespace freeflow {

namespace {

/// Spacings of a millimetre or so in float: everything is measured in the mean side.
double unit_of(const Geometry& g) { return std::cbrt(g.spacing.prod()); }

Sides sides_of(const Geometry& g) {
  Sides sides;
  for (int a = 0; a < 3; ++a) sides.of[a] = float(g.spacing[a] / unit_of(g));
  return sides;
}

Volume<float> distance_to(Context& ctx, const Geometry& g, const Buffer<SurfaceSeed>& seed,
                          VolumeView<const float> inside) {
  const Extent n = g.extent;
  const std::size_t count = n.count();
  {
    const ReduceWorkspace work(ctx, count, 1);
    const Buffer<double> seeds(ctx, 1);
    reduce(ctx, count, 1, SeedCountBody{{}, seed.data()}, work, seeds.data());
    if (seeds.to_host(ctx)[0] == 0 && !ctx.rehearses())
      throw RegistrationError("there is no surface: all voxels lie on one side of it");
  }
  const Sides sides = sides_of(g);
  Buffer<std::int32_t> a(ctx, count), b(ctx, count);
  {
    const Buffer<std::int32_t> site(ctx, count);
    const Buffer<double> from(ctx, count);
    for_each_voxel(ctx, Extent{n.y, n.z, 1}, NearestInRowBody{seed.data(), n, a.data()});
    for_each_voxel(ctx, Extent{n.x, n.z, 1},
                   EnvelopeBody{a.data(), n, sides, 1, b.data(), site.data(), from.data()});
    for_each_voxel(ctx, Extent{n.x, n.y, 1},
                   EnvelopeBody{b.data(), n, sides, 2, a.data(), site.data(), from.data()});
  }
  Volume<float> distance(ctx, g);
  for_each_voxel(
      ctx, n,
      DistanceBody{seed.data(), a.data(), inside, sides, float(unit_of(g)), distance.view()});
  return distance;
}

}  // namespace

Volume<float> signed_distance(Context& ctx, const Volume<float>& image, double iso, Inside inside) {
  const Geometry& g = image.geometry();
  check_numbered(g, "the image");
  require_on_device(ctx, image);
  Buffer<SurfaceSeed> seed(ctx, g.extent.count());
  Volume<float> mask(ctx, g);
  const SeedBody body{image.view(), float(iso), inside == Inside::above, sides_of(g), seed.data()};
  for_each_voxel(ctx, g.extent, body);
  for_each_voxel(ctx, g.extent, InsideBody{body, mask.view()});
  return distance_to(ctx, g, seed, mask.view());
}

Volume<float> signed_distance(Context& ctx, const Geometry& geometry,
                              const std::vector<SurfaceSeed>& seeds,
                              const std::vector<float>& inside) {
  check_numbered(geometry, "the distance");
  require(seeds.size() == geometry.extent.count(), "the number of seeds does not fit the geometry");
  const Volume<float> mask(ctx, geometry, inside);
  return distance_to(ctx, geometry, Buffer<SurfaceSeed>(ctx, seeds), mask.view());
}

}  // namespace freeflow
