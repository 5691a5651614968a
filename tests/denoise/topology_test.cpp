#include <freeflow/denoise/topology.h>

#include <gtest/gtest.h>

#include "support/phantoms.h"

namespace freeflow {
namespace {

template <class F>
Topology of(Extent n, F&& inside) {
  std::vector<std::uint8_t> voxels;
  for (const float v : test::voxelwise(n, inside)) voxels.push_back(v > 0);
  return topology_of(voxels, n);
}

TEST(Topology, CountsPartsHandlesAndCavities) {
  const Topology ball = of({9, 9, 9}, [](int x, int y, int z) {
    return (x - 4) * (x - 4) + (y - 4) * (y - 4) + (z - 4) * (z - 4) < 12;
  });
  EXPECT_EQ(ball.components, 1);
  EXPECT_EQ(ball.euler, 1);
  EXPECT_EQ(ball.handles(), 0);
  EXPECT_FALSE(ball.touches_border);
  const Topology hollow = of({9, 9, 9}, [](int x, int y, int z) {
    return std::max({abs(x - 4), abs(y - 4), abs(z - 4)}) == 2;
  });
  EXPECT_EQ(hollow.cavities, 1);
  EXPECT_EQ(hollow.euler, 2);
  EXPECT_EQ(hollow.handles(), 0);
  const Topology ring = of({9, 9, 5}, [](int x, int y, int z) {
    return z == 2 && std::max(abs(x - 4), abs(y - 4)) == 2;
  });
  EXPECT_EQ(ring.components, 1);
  EXPECT_EQ(ring.euler, 0);
  EXPECT_EQ(ring.handles(), 1);
  const Topology two = of({9, 4, 4}, [](int x, int y, int z) { return x != 4 && y < 2 && z < 2; });
  EXPECT_EQ(two.components, 2);
  EXPECT_EQ(two.euler, 2);
  EXPECT_TRUE(two.touches_border);
  EXPECT_EQ(two.voxels, 32);
}

TEST(Topology, VoxelsHoldTogetherByCorners) {
  const Topology corner =
      of({4, 4, 4}, [](int x, int y, int z) { return x == y && y == z && x > 0 && x < 3; });
  EXPECT_EQ(corner.components, 1);
  EXPECT_EQ(corner.euler, 1);
}

}  // namespace
}  // namespace freeflow
