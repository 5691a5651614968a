// A sum over an image, by a body of one's own on the CPU.
#include <cstdio>
#include <vector>

#include <freeflow/core/context.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/volume.h>

using namespace freeflow;

namespace {

struct Intensity : SumBody {
  VolumeView<const float> image;
  double operator()(std::size_t i, int) const { return image.data[i]; }
};

}  // namespace

int main() {
  Context ctx(Device::parse("cpu"));
  Geometry geometry;
  geometry.extent = {61, 47, 3};
  const Volume<float> image(ctx, geometry, std::vector<float>(geometry.extent.count(), 0.5f));
  const ReduceWorkspace work(ctx, geometry.extent.count(), 1);
  const Buffer<double> sum(ctx, 1);
  Intensity body;
  body.image = image.view();
  reduce(ctx, geometry.extent.count(), 1, body, work, sum.data());
  const double found = sum.to_host(ctx)[0];
  std::printf("sum %g on %s\n", found, ctx.device().name().c_str());
  return found == 0.5 * 61 * 47 * 3 ? 0 : 1;
}
