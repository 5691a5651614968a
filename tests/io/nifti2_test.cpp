// NIfTI-2: headers made here by nifti2.h's table of offsets, and what nibabel writes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/image_header.h>
#include <freeflow/io/transforms/vector_nifti.h>

#include "io_test_support.h"
#include "support/python.h"

namespace freeflow::test {
namespace nifti2_test {

constexpr std::size_t header_size = 540, voxels_at = 544;

template <class T>
void put_swapped(std::string& bytes, std::size_t offset, T value) {
  put_at(bytes, offset, value);
  std::reverse(bytes.begin() + std::ptrdiff_t(offset),
               bytes.begin() + std::ptrdiff_t(offset + sizeof value));
}

struct Parts {
  bool swapped = false, two_files = false;
  std::int64_t x = 2, y = 3, z = 4, volumes = 1, components = 1;
  int sform_code = 1, qform_code = 0, units = 2;
  double slope = 0, intercept = 0;
};

/// Of float32 voxels of 1, 2 and 3 mm whose first axis runs to the front and second to the left.
std::string header(const Parts& parts = {}) {
  std::string bytes(voxels_at, '\0');
  const auto put = [&](std::size_t offset, auto value) {
    if (parts.swapped)
      put_swapped(bytes, offset, value);
    else
      put_at(bytes, offset, value);
  };
  put(0, std::int32_t(header_size));
  std::memcpy(bytes.data() + 4, parts.two_files ? "ni2\0\r\n\032\n" : "n+2\0\r\n\032\n", 8);
  put(12, std::int16_t(16));
  put(14, std::int16_t(32));
  const std::int64_t dim[] = {parts.components > 1 ? 5 : 4,
                              parts.x,
                              parts.y,
                              parts.z,
                              parts.volumes,
                              parts.components,
                              1,
                              1};
  for (std::size_t i = 0; i < 8; ++i) put(16 + 8 * i, dim[i]);
  const double pixdim[] = {1, 1, 2, 3, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 8; ++i) put(104 + 8 * i, pixdim[i]);
  put(168, std::int64_t(parts.two_files ? 0 : voxels_at));
  put(176, parts.slope);
  put(184, parts.intercept);
  put(344, std::int32_t(parts.qform_code));
  put(348, std::int32_t(parts.sform_code));
  const double half = std::sqrt(0.5);
  const double qform[] = {0, 0, half, 10, -20, 30};  // a quarter turn about z
  for (std::size_t i = 0; i < 6; ++i) put(352 + 8 * i, qform[i]);
  const double sform[] = {0, -2, 0, 10, 1, 0, 0, -20, 0, 0, 3, 30};
  for (std::size_t i = 0; i < 12; ++i) put(400 + 8 * i, sform[i]);
  put(500, std::int32_t(parts.units));
  put(504, std::int32_t(parts.components > 1 ? 1007 : 0));
  if (parts.two_files) bytes.resize(header_size);
  return bytes;
}

std::string counted(std::size_t count, bool swapped = false) {
  std::string bytes(4 * count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    if (swapped)
      put_swapped(bytes, 4 * i, float(i));
    else
      put_at(bytes, 4 * i, float(i));
  }
  return bytes;
}

void expect_counted(const std::string& path, double tolerance = 0) {
  const HostImage image = read_image(path);
  Eigen::Matrix4d lps;
  lps << 0, 2, 0, -10, -1, 0, 0, 20, 0, 0, 3, 30, 0, 0, 0, 1;
  EXPECT_LE((image.geometry.index_to_world().matrix() - lps).cwiseAbs().maxCoeff(), tolerance)
      << path << '\n'
      << image.geometry.index_to_world().matrix();
  ASSERT_EQ(image.voxels.size(), 24u) << path;
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(image.voxels[i], float(i)) << path;
}

TEST(Nifti2, IsReadInBothByteOrdersCompressedAndInTwoFiles) {
  const TemporaryFolder folder;
  write_bytes(folder / "little.nii", header() + counted(24));
  write_bytes(folder / "big.nii", header({.swapped = true}) + counted(24, true));
  gzip_file(folder / "little.nii", folder / "little.nii.gz");
  write_bytes(folder / "two.hdr", header({.two_files = true}));
  write_bytes(folder / "two.img", counted(24));
  for (const std::string name : {"little.nii", "big.nii", "little.nii.gz", "two.hdr"})
    expect_counted(folder / name);
  EXPECT_EQ(read_image_header(folder / "little.nii").format, "NIfTI-2");
}

TEST(Nifti2, IsPlacedByItsQformWhereThatAloneIsSet) {
  const TemporaryFolder folder;
  for (const bool swapped : {false, true}) {
    write_bytes(folder / "q.nii", header({.swapped = swapped, .sform_code = 0, .qform_code = 1}) +
                                      counted(24, swapped));
    expect_counted(folder / "q.nii", 1e-6);
  }
}

/// The sign of the third axis: NIfTI says that 0 is none, so no other.
TEST(Nifti2, ItsThirdAxisIsTurnedByANegativeSignAlone) {
  const TemporaryFolder folder;
  for (const double sign : {1.0, 0.0, -1.0}) {
    std::string bytes = header({.sform_code = 0, .qform_code = 1}) + counted(24);
    put_at(bytes, 104, sign);
    write_bytes(folder / "q.nii", bytes);
    const Geometry grid = read_image(folder / "q.nii").geometry;
    EXPECT_NEAR(grid.direction(2, 2), sign < 0 ? -1 : 1, 1e-6) << sign;
    EXPECT_EQ(grid.origin, Eigen::Vector3d(-10, 20, 30)) << sign;
  }
}

TEST(Nifti2, ItsUnitOfLengthIsReadFromItsPlace) {
  const TemporaryFolder folder;
  for (const bool swapped : {false, true}) {
    write_bytes(folder / "m.nii", header({.swapped = swapped, .units = 1}) + counted(24, swapped));
    EXPECT_TRUE(read_image(folder / "m.nii")
                    .geometry.spacing.isApprox(Eigen::Vector3d(1000, 2000, 3000), 1e-12));
  }
}

TEST(Nifti2, IsPlacedByItsSformWhereTheyDiffer) {
  const TemporaryFolder folder;
  std::string bytes = header({.qform_code = 1}) + counted(24);
  put_at(bytes, 376, 17.0);  // qoffset_x
  write_bytes(folder / "both.nii", bytes);
  expect_counted(folder / "both.nii");
  EXPECT_TRUE(read_image_header(folder / "both.nii").nifti->taken.starts_with("the sform"));
}

TEST(Nifti2, IsPlacedByItsQformWhereTheSformIsSheared) {
  const TemporaryFolder folder;
  std::string bytes = header({.sform_code = 4, .qform_code = 2}) + counted(24);
  put_at(bytes, 400, 0.5);  // the first of srow_x
  write_bytes(folder / "sheared.nii", bytes);
  expect_counted(folder / "sheared.nii", 1e-6);
  const HostImage image = read_image(folder / "sheared.nii");
  EXPECT_EQ(image.geometry.space_code, 2);
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("takes the qform"), std::string::npos) << image.warnings[0];
  EXPECT_TRUE(read_image_header(folder / "sheared.nii").nifti->taken.starts_with("the qform"));
  bytes = header() + counted(24);
  put_at(bytes, 400, 0.5);
  write_bytes(folder / "alone.nii", bytes);
  expect_io_error([&] { read_image(folder / "alone.nii"); }, {"not perpendicular"});
}

TEST(Nifti2, OfNeitherFormLiesAtTheOrigin) {
  const TemporaryFolder folder;
  write_bytes(folder / "none.nii", header({.sform_code = 0}) + counted(24));
  const HostImage image = read_image(folder / "none.nii");
  EXPECT_EQ(image.geometry.spacing, Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(image.geometry.origin, Eigen::Vector3d(0, 0, 0));
  EXPECT_EQ(image.geometry.direction, Eigen::Matrix3d::Identity());
  EXPECT_EQ(image.warnings.size(), 1u);
}

TEST(Nifti2, ScalesByDoubles) {
  const TemporaryFolder folder;
  write_bytes(folder / "scaled.nii", header({.slope = 0.1, .intercept = 1e4}) + counted(24));
  const HostImage image = read_image(folder / "scaled.nii");
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(image.voxels[i], float(0.1 * double(i) + 1e4));
}

TEST(Nifti2, HoldsDisplacementFields) {
  const TemporaryFolder folder;
  write_bytes(folder / "field.nii", header({.components = 3}) + counted(72));
  const HostField field = read_displacement(folder / "field.nii");
  ASSERT_EQ(field.planes.size(), 72u);
  const float voxels[] = {-29, 5 / 2.f, 53 / 3.f};  // of (5, 29, 53) mm
  for (std::size_t axis = 0; axis < 3; ++axis)
    EXPECT_NEAR(field.planes[24 * axis + 5], voxels[axis], 1e-5) << axis;
}

/// What foreign fields keep in the header for purposes of their own.
TEST(Nifti2, AVectorFilesHeaderIsReadFromItsPlaces) {
  const TemporaryFolder folder;
  for (const bool swapped : {false, true}) {
    std::string bytes = header({.swapped = swapped, .components = 3, .sform_code = 0});
    bytes[header_size] = 1;
    const std::int32_t extension[] = {16, 4};  // of AFNI
    for (std::size_t i = 0; i < 2; ++i) {
      std::string number(4, '\0');
      put_at(number, 0, extension[i]);
      if (swapped) std::ranges::reverse(number);
      bytes += number;
    }
    bytes.resize(header_size + 4 + 16);
    std::string kind(8, '\0');
    put_at(kind, 0, 2.5);
    if (swapped) std::ranges::reverse(kind);
    bytes.replace(80, 8, kind);  // the first parameter of the intent
    bytes.replace(508, 16, "NREG_TRANS and more than fits", 16);
    write_bytes(folder / "field.nii", bytes + counted(72, swapped));
    const VectorNifti file = read_vector_header(folder / "field.nii");
    EXPECT_EQ(file.qform_offset, (std::array<double, 3>{10, -20, 30}));
    EXPECT_TRUE(file.by_afni);
    EXPECT_EQ(file.header.intent_p[0], 2.5);
    EXPECT_EQ(file.header.intent_name, "NREG_TRANS and m");
    std::vector<std::string> warnings;
    EXPECT_EQ(vector_grid(file, warnings).spacing, Eigen::Vector3d(1, 2, 3));
  }
}

TEST(Nifti2, WhatItDeclaresIsNotBelieved) {
  const TemporaryFolder folder;
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::string path = folder / "bad.nii";
  const auto expect_refused = [&](const Parts& parts, const std::string& words) {
    write_bytes(path, header(parts) + counted(24));
    expect_io_error([&] { read_image(path); }, {path, words});
  };
  expect_refused({.x = huge, .y = huge, .z = huge}, "can be used");
  expect_refused({.x = -2}, "-2 x 3 x 4");
  expect_refused({.volumes = huge}, "volumes");
  expect_refused({.volumes = 0}, "no volumes");
  expect_refused({.x = 20}, "24 of 240");
  write_bytes(path, header().substr(0, 400));
  expect_io_error([&] { read_image(path); }, {path, "ends within its header"});
}

TEST(Nifti2, NibabelsFilesAreThoseOfNifti1) {
  const std::string check = " -c 'import nibabel' >/dev/null 2>&1";
  if (std::system((python() + check).c_str()) != 0)
    GTEST_SKIP() << "\nforeign readers: Nifti2 skipped, for want of nibabel";
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({13, 7, 5});
  write_image(folder / "one.nii.gz", grid, random_values(grid.extent.count(), -100, 900));
  const std::string code =
      "import nibabel, sys; nibabel.save(nibabel.Nifti2Image.from_image("
      "nibabel.load(sys.argv[1])), sys.argv[2])";
  const std::string command = python() + " -c '" + code + "' '" + (folder / "one.nii.gz") + "' '" +
                              (folder / "two.nii.gz") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const HostImage one = read_image(folder / "one.nii.gz"), two = read_image(folder / "two.nii.gz");
  EXPECT_EQ(one.voxels, two.voxels);
  EXPECT_TRUE(one.geometry.index_to_world().isApprox(two.geometry.index_to_world(), 1e-6));
  EXPECT_EQ(read_image_header(folder / "two.nii.gz").format, "NIfTI-2");
}

}  // namespace nifti2_test
}  // namespace freeflow::test
