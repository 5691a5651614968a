// Where a file's header places the voxels: sform, qform, repaired and refused directions.
#include <freeflow/io/image_file.h>

#include <cmath>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

constexpr std::array<float, 12> straight{1, 0, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7};

/// A 4 x 5 x 6 image with voxels of 1 x 2 x 3 mm and that sform (RAS); qform_code > 0 adds a qform
/// without rotation from origin 0.
HostImage read_with(const TemporaryFolder& folder, int sform_code,
                    const std::array<float, 12>& sform, int qform_code) {
  std::string bytes = nifti_header({4, 5, 6}, 2, 8);
  put_sform(bytes, sform_code, sform);
  put_at<std::int16_t>(bytes, 252, std::int16_t(qform_code));
  write_bytes(folder / "x.nii", bytes + std::string(120, 'a'));
  return read_image(folder / "x.nii");
}

TEST(Orientation, SformIsTurnedFromRasToLps) {
  const TemporaryFolder folder;
  const HostImage image = read_with(folder, 1, straight, 0);
  EXPECT_EQ(image.geometry.origin, Eigen::Vector3d(-5, -6, 7));
  EXPECT_EQ(image.geometry.spacing, Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(image.geometry.direction.diagonal(), Eigen::Vector3d(-1, -1, 1));
  EXPECT_TRUE(image.warnings.empty());
}

TEST(Orientation, WarnsWhenQformWinsOverADifferentSform) {
  const TemporaryFolder folder;
  const HostImage image = read_with(folder, 2, straight, 1);
  EXPECT_EQ(image.geometry.origin, Eigen::Vector3d(0, 0, 0)) << "ITK's rule takes the qform";
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("elsewhere"), std::string::npos);
  EXPECT_NE(image.warnings[0].find("10.5 mm"), std::string::npos) << image.warnings[0];
}

TEST(Orientation, WarnsWhereTheFormsLieFartherApartThanRoundingPutsThem) {
  const TemporaryFolder folder;
  for (const float apart : {0.03f, 0.07f}) {  // of the smallest voxel of 1 mm
    const HostImage image = read_with(folder, 2, {1, 0, 0, apart, 0, 2, 0, 0, 0, 0, 3, 0}, 1);
    EXPECT_EQ(image.warnings.size(), apart > 0.05f ? 1u : 0u) << apart;
  }
}

/// In floats: half a turn leaves 1 - b^2 - c^2 - d^2 = 1e-7 at most, whose root is 3e-4.
TEST(Orientation, AQformOfHalfATurnIsNoMore) {
  const TemporaryFolder folder;
  std::string bytes = nifti_header({2, 3, 4}, 2, 8);
  bytes[123] = 1;  // metres: a file that ITK does not place
  put_at<std::int16_t>(bytes, 252, 1);
  put_at<float>(bytes, 256, std::nextafter(0.6f, 0.0f));
  put_at<float>(bytes, 260, 0.8f);
  write_bytes(folder / "x.nii", bytes + std::string(24, 'a'));
  const Eigen::AngleAxisd half(EIGEN_PI, Eigen::Vector3d(0.6, 0.8, 0));
  const Eigen::Matrix3d lps = Eigen::Vector3d(-1, -1, 1).asDiagonal() * half.toRotationMatrix();
  EXPECT_LT((read_image(folder / "x.nii").geometry.direction - lps).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(Orientation, ScannerSformWinsWithoutWarning) {
  const TemporaryFolder folder;
  const HostImage image = read_with(folder, 1, straight, 1);
  EXPECT_EQ(image.geometry.origin, Eigen::Vector3d(-5, -6, 7));
  EXPECT_TRUE(image.warnings.empty());
}

TEST(Orientation, WarnsOfAnSformOfOtherVoxels) {
  const TemporaryFolder folder;
  std::array<float, 12> wide = straight;
  wide[0] = 2;
  const HostImage image = read_with(folder, 1, wide, 0);
  EXPECT_EQ(image.geometry.spacing, Eigen::Vector3d(2, 2, 3));
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("(pixdim) is 1 x 2 x 3 mm, but the sform's axes are 2 x 2 x 3"),
            std::string::npos)
      << image.warnings[0];
}

TEST(Orientation, WarnsWhenNothingIsDeclared) {
  const TemporaryFolder folder;
  const HostImage image = read_with(folder, 0, straight, 0);
  EXPECT_EQ(image.geometry.origin, Eigen::Vector3d(0, 0, 0));
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("neither sform nor qform"), std::string::npos);
}

TEST(Orientation, TheCodeOfWhatWasTakenIsKept) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_with(folder, 4, straight, 0).geometry.space_code, 4);
  EXPECT_EQ(read_with(folder, 2, straight, 1).geometry.space_code, 1) << "the qform was taken";
  EXPECT_EQ(read_with(folder, 1, straight, 3).geometry.space_code, 1) << "the sform was";
  EXPECT_EQ(read_with(folder, 0, straight, 3).geometry.space_code, 3);
  EXPECT_EQ(read_with(folder, 0, straight, 0).geometry.space_code, 0) << "none is given";
  const HostImage image = read_with(folder, 3, straight, 0);
  write_image(folder / "out.nii", image.geometry, image.voxels);
  const std::string header = read_bytes(folder / "out.nii");
  EXPECT_EQ(header[252], 3);
  EXPECT_EQ(header[254], 3);
  const HostImage again = read_image(folder / "out.nii");
  EXPECT_EQ(again.geometry.space_code, 3);
  EXPECT_TRUE(same_grid(again.geometry, image.geometry));
  EXPECT_TRUE(again.warnings.empty());
}

TEST(Orientation, SmallShearIsProjectedWithAWarning) {
  const TemporaryFolder folder;
  std::array<float, 12> sheared = straight;
  sheared[1] = 0.01f;  // the y axis leans by 0.005 of its length
  const HostImage image = read_with(folder, 1, sheared, 0);
  EXPECT_NO_THROW(image.geometry.validate("the image"));
  EXPECT_LT((image.geometry.direction.transpose() * image.geometry.direction -
             Eigen::Matrix3d::Identity())
                .cwiseAbs()
                .maxCoeff(),
            1e-12);
  EXPECT_LT(image.geometry.direction.determinant(), 1.0001);
  EXPECT_NEAR(image.geometry.direction(0, 1), -0.0025, 1e-4)
      << "the shear is shared between the two axes";
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("not quite perpendicular"), std::string::npos);
  EXPECT_NE(image.warnings[0].find(" mm"), std::string::npos);
}

TEST(Orientation, LargeShearIsRefused) {
  const TemporaryFolder folder;
  std::array<float, 12> sheared = straight;
  sheared[1] = 0.6f;
  expect_io_error([&] { read_with(folder, 1, sheared, 0); }, {"x.nii", "not perpendicular"});
}

/// Of files that ITK places ITK says so; of others the limit is ours: 1.15 degrees.
TEST(Orientation, AShearOfTwoDegreesIsRefused) {
  const TemporaryFolder folder;
  for (const float degrees : {1.0f, 2.0f}) {
    std::string bytes = nifti_header({4, 5, 6}, 2, 8);
    bytes[123] = 1;  // metres
    const float lean = std::tan(degrees * float(EIGEN_PI) / 180);
    put_sform(bytes, 1, {1, 2 * lean, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7});
    write_bytes(folder / "x.nii", bytes + std::string(120, 'a'));
    if (degrees < 1.15f)
      EXPECT_EQ(read_image(folder / "x.nii").warnings.size(), 2u);
    else
      expect_io_error([&] { read_image(folder / "x.nii"); }, {"x.nii", "not perpendicular"});
  }
}

TEST(Orientation, ShearedSformBesideAQformWarns) {
  const TemporaryFolder folder;
  std::array<float, 12> sheared = straight;
  sheared[1] = 0.6f;
  const HostImage image = read_with(folder, 1, sheared, 1);
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("takes the qform"), std::string::npos);
}

TEST(Orientation, SformWhoseScaleIsNotThatOfPixdimIsTaken) {
  const TemporaryFolder folder;
  std::array<float, 12> scaled = straight;
  scaled[0] = 1.5f;
  EXPECT_EQ(read_with(folder, 1, scaled, 0).geometry.spacing, Eigen::Vector3d(1.5, 2, 3));
}

TEST(Orientation, SingularOrUndefinedSformIsRefused) {
  const TemporaryFolder folder;
  expect_io_error([&] { read_with(folder, 1, {}, 0); }, {"voxel size that is not positive"});
  std::array<float, 12> undefined = straight;
  undefined[0] = std::nanf("");
  expect_io_error([&] { read_with(folder, 1, undefined, 0); }, {"sform that is not finite"});
}

TEST(Orientation, MetaImageDirections) {
  const TemporaryFolder folder;
  const auto read_matrix = [&](const std::string& matrix) {
    write_bytes(folder / "x.mha",
                "ObjectType = Image\nNDims = 3\nTransformMatrix = " + matrix +
                    "\nOffset = 1 2 3\nElementSpacing = 1 2 3\nDimSize = 2 2 2\nElementType = "
                    "MET_UCHAR\nElementDataFile = LOCAL\nabcdefgh");
    return read_image(folder / "x.mha");
  };
  const HostImage turned = read_matrix("0 1 0 -1 0 0 0 0 1");
  EXPECT_EQ(turned.geometry.origin, Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(turned.geometry.direction.col(0), Eigen::Vector3d(0, 1, 0));
  EXPECT_TRUE(turned.warnings.empty());
  EXPECT_EQ(read_matrix("1 0 0 0.005 1 0 0 0 1").warnings.size(), 1u);
  expect_io_error([&] { read_matrix("1 0 0 0.5 1 0 0 0 1"); }, {"not perpendicular"});
  expect_io_error([&] { read_matrix("0 0 0 0 0 0 0 0 0"); }, {"x.mha"});
}

}  // namespace
}  // namespace freeflow::test
