// Cohorts and templates read and write on many threads, which ITK's static variables do not expect:
// its NIfTI reader ended programs at random.
#include <thread>

#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

TEST(Threads, ReadAndWriteAtOnce) {
  constexpr int threads = 8, times = 40;
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({5, 4, 3});
  std::vector<std::string> paths;
  for (int t = 0; t < threads; ++t) {  // of different lengths: one string that all share grows
    paths.push_back(folder / (std::string(20 + std::size_t(23 * t), 'n') + ".nii"));
    write_image(paths.back(), grid, std::vector<float>(grid.extent.count(), float(t)));
  }
  std::vector<int> right(threads);
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        Eigen::Affine3d shift = Eigen::Affine3d::Identity();
        shift.translation().x() = t;
        const std::string affine = paths[std::size_t(t)] + ".mat";
        for (int i = 0; i < times; ++i) {
          const HostImage image = read_image(paths[std::size_t(t)]);
          if (i % 20 == 0) write_affine(affine, shift, Eigen::Vector3d::Zero());
          right[std::size_t(t)] += image.voxels[0] == float(t) && same_grid(image.geometry, grid) &&
                                   read_affine(affine).isApprox(shift);
        }
      });
  }
  EXPECT_EQ(right, std::vector<int>(threads, times));
}

}  // namespace
}  // namespace freeflow::test
