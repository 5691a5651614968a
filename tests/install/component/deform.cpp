// Warps an image by one voxel, and inverts that.
#include <cmath>
#include <cstdio>
#include <vector>

#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>

using namespace freeflow;

int main() {
  Context ctx(Device::parse("cpu"));
  Geometry geometry;
  geometry.extent = {16, 8, 4};
  std::vector<float> ramp, shift(3 * geometry.extent.count(), 0.0f);
  for (std::size_t i = 0; i < geometry.extent.count(); ++i) {
    ramp.push_back(float(i % 16));
    shift[i] = 1;
  }
  const Volume<float> image(ctx, geometry, ramp);
  const DisplacementField u(ctx, geometry, shift);
  const Volume<float> warped =
      warp(ctx, image, geometry, Eigen::Affine3d::Identity(), &u, Interpolation::linear, -1);
  const Inverse inverse = invert(ctx, u);
  const float value = warped.to_host(ctx)[5], back = inverse.field.to_host(ctx)[5];
  std::printf("warped %g, inverse %g\n", double(value), double(back));
  return value == 6 && std::abs(back + 1) < 1e-3f ? 0 : 1;
}
