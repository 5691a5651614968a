// Smooths a field, and a velocity by the fluid's equation.
#include <cstdio>
#include <vector>

#include <freeflow/regularize/navier.h>
#include <freeflow/regularize/smoother.h>

using namespace freeflow;

int main() {
  Context ctx(Device::parse("cpu"));
  Geometry geometry;
  geometry.extent = {16, 16, 16};
  std::vector<float> pulse(3 * geometry.extent.count(), 0.0f);
  const std::size_t middle = geometry.extent.offset(8, 8, 8);
  pulse[middle] = 1;
  DisplacementField u(ctx, geometry, pulse);
  smooth(ctx, u, Eigen::Vector3d::Constant(1.5));
  const float smoothed = u.to_host(ctx)[middle];

  DisplacementField force(ctx, geometry, pulse);
  const NavierVelocity fluid(ctx, geometry, Viscosity{});
  fluid.apply(ctx, force.view(), force.view());
  const float velocity = force.to_host(ctx)[middle];
  std::printf("smoothed %g, velocity %g\n", double(smoothed), double(velocity));
  return smoothed > 0 && smoothed < 0.1f && velocity > 0 ? 0 : 1;
}
