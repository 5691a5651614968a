// A measure prefers an image to its shifted copy.
#include <cmath>
#include <cstdio>
#include <vector>

#include <freeflow/similarity/similarity_choice.h>

using namespace freeflow;

namespace {

Volume<float> waves(Context& ctx, double phase) {
  Geometry geometry;
  geometry.extent = {24, 24, 24};
  std::vector<float> voxels;
  for (int z = 0; z < 24; ++z)
    for (int y = 0; y < 24; ++y)
      for (int x = 0; x < 24; ++x)
        voxels.push_back(float(std::sin(0.5 * x + phase) + std::cos(0.4 * y) + 0.05 * z));
  return Volume<float>(ctx, geometry, voxels);
}

double cost(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) {
  const auto measure = make_similarity({});
  measure->read_ranges(ctx, fixed, moving);
  measure->prepare(ctx, ImagePair{fixed, moving, PointMap{}});
  const Buffer<double> found(ctx, 1);
  measure->evaluate(ctx, {nullptr, fixed.extent()}, {nullptr, fixed.extent()}, found.data());
  return found.to_host(ctx)[0];
}

}  // namespace

int main() {
  Context ctx(Device::parse("cpu"));
  const Volume<float> fixed = waves(ctx, 0);
  const double same = cost(ctx, fixed, waves(ctx, 0)), moved = cost(ctx, fixed, waves(ctx, 1));
  std::printf("nmi of the same %g, of the moved %g\n", same, moved);
  return same < moved ? 0 : 1;
}
