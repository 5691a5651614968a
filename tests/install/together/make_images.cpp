// Two small images of a few blobs, the second shifted and bent.
#include <cmath>
#include <string>
#include <vector>

#include <freeflow/io/image_file.h>

namespace {

void write_blobs(const std::string& path, double bend) {
  freeflow::Geometry geometry;
  geometry.extent = {28, 26, 24};
  geometry.spacing = {4, 4, 4.5};
  std::vector<float> voxels;
  for (int z = 0; z < 24; ++z)
    for (int y = 0; y < 26; ++y)
      for (int x = 0; x < 28; ++x) {
        const Eigen::Vector3d p(x + bend * std::sin(0.2 * y), y + 0.5 * bend, z - 0.4 * bend);
        double value = 0;
        for (int k = 0; k < 6; ++k) {
          const Eigen::Vector3d at(14 + 6 * std::cos(k), 13 + 5 * std::sin(2 * k),
                                   12 + 3 * (k % 3 - 1));
          value += (60 + 10 * k) * std::exp(-(p - at).squaredNorm() / (6 + 3 * k));
        }
        voxels.push_back(float(value));
      }
  freeflow::write_image(path, geometry, voxels);
}

}  // namespace

int main() {
  write_blobs("fixed.nii", 0);
  write_blobs("moving.nii", 1.5);
}
