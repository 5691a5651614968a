// Writes an image and reads it back.
#include <cstdio>
#include <filesystem>
#include <vector>

#include <freeflow/io/image_file.h>

using namespace freeflow;

int main() {
  Geometry geometry;
  geometry.extent = {7, 5, 3};
  geometry.spacing = {1, 2, 3};
  std::vector<float> voxels;
  for (std::size_t i = 0; i < geometry.extent.count(); ++i) voxels.push_back(float(i));
  write_image("use_io.nii.gz", geometry, voxels);
  const HostImage image = read_image("use_io.nii.gz");
  std::filesystem::remove("use_io.nii.gz");
  std::printf("%zu voxels\n", image.voxels.size());
  return same_grid(image.geometry, geometry) && image.voxels == voxels ? 0 : 1;
}
