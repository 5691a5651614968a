// The distance to a ball, and its topology.
#include <cmath>
#include <cstdio>
#include <vector>

#include <freeflow/denoise/signed_distance.h>
#include <freeflow/denoise/topology.h>

using namespace freeflow;

int main() {
  Context ctx(Device::parse("cpu"));
  Geometry geometry;
  geometry.extent = {32, 32, 32};
  std::vector<float> level;
  for (int z = 0; z < 32; ++z)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        level.push_back(
            float(10 - (Eigen::Vector3d(x, y, z) - Eigen::Vector3d(16, 16, 16)).norm()));
  const std::vector<float> distance =
      signed_distance(ctx, Volume<float>(ctx, geometry, level), 0, Inside::above).to_host(ctx);
  std::vector<std::uint8_t> inside;
  for (float d : distance) inside.push_back(d < 0);
  const Topology topology = topology_of(inside, geometry.extent);
  const float error = std::abs(distance[geometry.extent.offset(28, 16, 16)] - 2);
  std::printf("distance off by %.3f, %d part\n", double(error), int(topology.components));
  return error < 0.1f && topology.components == 1 && topology.handles() == 0 ? 0 : 1;
}
