// NIfTI headers as they are written: what another reader takes from them.
#include <freeflow/io/nifti_writer.h>

#include <freeflow/io/image_header.h>
#include <freeflow/io/nifti_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace nifti_writer_test {

/// What stands in a header of floats about this grid.
NiftiHeader written(const TemporaryFolder& folder, const Geometry& grid,
                    const NiftiLayout& layout = {}) {
  NiftiWriter writer(folder / "x.nii", grid, layout);
  const std::vector<float> voxels(grid.extent.count());
  writer.write(voxels.data(), voxels.size() * sizeof(float));
  writer.close();
  return read_nifti_header(folder / "x.nii");
}

TEST(NiftiWriter, BothFormsPlaceTheVoxelsHoweverTheyAreTurned) {
  const TemporaryFolder folder;
  for (const Eigen::Vector3d& axis :
       {Eigen::Vector3d(1, 2, 3), Eigen::Vector3d(-3, 1, 2), Eigen::Vector3d(2, -3, -1)})
    for (const double degrees : {20.0, 115.0, 170.0, 179.9, 250.0})
      for (const bool mirrored : {false, true}) {
        Geometry grid = oblique_grid({4, 3, 2});
        grid.direction =
            Eigen::AngleAxisd(degrees * EIGEN_PI / 180, axis.normalized()).toRotationMatrix();
        if (mirrored) grid.direction.col(0) *= -1;
        const NiftiHeader header = written(folder, grid);
        const Eigen::Matrix4d to_world = grid.index_to_world().matrix();
        EXPECT_LT((header.sform.matrix() - to_world).cwiseAbs().maxCoeff(), 1e-5);
        EXPECT_LT((header.qform.matrix() - to_world).cwiseAbs().maxCoeff(), 2e-3)
            << axis.transpose() << ", " << degrees << ' ' << mirrored;
      }
}

TEST(NiftiWriter, SaysHowManyBitsAVoxelHas) {
  const Geometry grid = oblique_grid({2, 2, 2});
  NiftiLayout layout;
  EXPECT_EQ(value_at<std::int16_t>(nifti_header_bytes(grid, layout), 72), 32);
  layout.stored_type = StoredType::uint8;
  for (const int channels : {1, 3, 4}) {
    layout.colour_channels = channels;
    EXPECT_EQ(value_at<std::int16_t>(nifti_header_bytes(grid, layout), 72), 8 * channels);
  }
}

TEST(NiftiWriter, ANameEndsWithinItsField) {
  NiftiLayout layout;
  layout.intent_name = "sixteen letters!";
  const std::string bytes = nifti_header_bytes(oblique_grid({2, 2, 2}), layout);
  EXPECT_EQ(bytes.substr(328, 17), std::string("sixteen letters\0n", 17));
}

TEST(NiftiWriter, HoldsNoLongerSidesThanItsNumbers) {
  const TemporaryFolder folder;
  EXPECT_EQ(written(folder, oblique_grid({2, 32767, 2})).size[1], 32767);
  expect_io_error(
      [&] {
        NiftiWriter(folder / "y.nii", oblique_grid({2, 2, 32768}), {});
      },
      {"at most 32767 voxels"});
  NiftiLayout layout;
  layout.dimensions = 4;
  layout.size[0] = 32768;
  expect_io_error(
      [&] {
        NiftiWriter(folder / "y.nii", oblique_grid({2, 2, 2}), layout);
      },
      {"at most 32767 voxels"});
}

TEST(ImageHeader, SaysUnitsComponentsAndShear) {
  const TemporaryFolder folder;
  std::string bytes = nifti_header({2, 3, 4, 1, 2, 1}, 16, 32);
  bytes[123] = 2 | 16;
  put_sform(bytes, 1, {1, 0.01f, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7});
  write_bytes(folder / "x.nii", bytes + std::string(48 * 4, '\0'));
  const ImageHeader header = read_image_header(folder / "x.nii");
  EXPECT_EQ(header.size, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(header.components, 2);
  EXPECT_EQ(header.voxels, "vectors");
  ASSERT_TRUE(header.nifti.has_value());
  EXPECT_EQ(header.nifti->length_unit, "mm");
  EXPECT_EQ(header.nifti->time_unit, "ms");
  bool said = false;
  for (const std::string& warning : header.warnings)
    said = said || warning.find("0.29 degrees off a right angle") != std::string::npos;
  EXPECT_TRUE(said);
}

}  // namespace nifti_writer_test
}  // namespace freeflow::test
