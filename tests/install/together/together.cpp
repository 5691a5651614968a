// The default pipeline from files to files: one waits for a context, two images and ten lines.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/registration/register_images.h>

namespace {

void write_blob(const char* path, double x0) {
  freeflow::Geometry geometry;
  geometry.extent = {20, 20, 20};
  geometry.spacing = {4, 4, 4};
  std::vector<float> voxels;
  for (int z = 0; z < 20; ++z)
    for (int y = 0; y < 20; ++y)
      for (int x = 0; x < 20; ++x)
        voxels.push_back(float(
            100 *
            std::exp(
                -(Eigen::Vector3d(x, 0.8 * y, 0.7 * z) - Eigen::Vector3d(x0, 8, 7)).squaredNorm() /
                20)));
  freeflow::write_image(path, geometry, voxels);
}

}  // namespace

int main() {
  write_blob("fixed.nii", 9.5);
  write_blob("moving.nii", 11);

  freeflow::Context ctx(freeflow::Device::parse("cpu"));
  const auto fixed = freeflow::to_volume(ctx, freeflow::read_image("fixed.nii"));
  const auto moving = freeflow::to_volume(ctx, freeflow::read_image("moving.nii"));
  freeflow::RegistrationOptions options;
  options.linear = freeflow::LinearModel::rigid;
  const freeflow::RegistrationResult result =
      freeflow::register_images(ctx, fixed, moving, options);
  freeflow::write_displacement(ctx, "warp.nii.gz", result.displacement);

  const Eigen::Vector3d middle(38, 40, 40), to = result.affine * middle;
  std::printf("the middle moves by %.2f mm before the field\n", (to - middle).norm());
  const bool written = std::filesystem::exists("warp.nii.gz");
  for (const char* path : {"fixed.nii", "moving.nii", "warp.nii.gz"}) std::filesystem::remove(path);
  return written && result.overlap_after > 0.5 ? 0 : 1;
}
