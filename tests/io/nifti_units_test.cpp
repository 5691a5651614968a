// NIfTI files whose lengths are metres or micrometres: images become those of millimetres.
#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/image_header.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/nifti_writer.h>
#include <freeflow/io/series_file.h>
#include <freeflow/io/transforms/transform_formats.h>
#include <freeflow/io/transforms/vector_nifti.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace nifti_units_test {

constexpr int metres = 1, millimetres = 2, micrometres = 3;
enum class Form { none, qform, sform };

/// 2 x 3 x 4 bytes on a grid of 0.025, 0.05 and 0.1 mm whose axes run to the front, left and up,
/// its lengths in a unit of so many millimetres.
std::string image(Form form, int unit, std::vector<int> sizes = {2, 3, 4}) {
  const float per_mm = unit == metres ? 1e-3f : unit == micrometres ? 1e3f : 1;
  std::string bytes = nifti_header(std::move(sizes), 2, 8);
  bytes[123] = char(unit | 8);  // seconds
  const float voxel[] = {0.025f * per_mm, 0.05f * per_mm, 0.1f * per_mm};
  for (std::size_t axis = 0; axis < 3; ++axis) put_at<float>(bytes, 80 + 4 * axis, voxel[axis]);
  const float origin[] = {-3 * per_mm, 2 * per_mm, 8.5f * per_mm};
  if (form == Form::sform)
    put_sform(bytes, 1,
              {0, -voxel[1], 0, origin[0], voxel[0], 0, 0, origin[1], 0, 0, voxel[2], origin[2]});
  if (form == Form::qform) {
    put_at<std::int16_t>(bytes, 252, 1);
    put_at<float>(bytes, 264, std::sqrt(0.5f));  // a quarter turn about z
    for (std::size_t axis = 0; axis < 3; ++axis) put_at<float>(bytes, 268 + 4 * axis, origin[axis]);
  }
  for (char c = 'a'; c < 'a' + 24; ++c) bytes += c;
  return bytes;
}

class NiftiUnits : public testing::Test {
 protected:
  std::string file(const std::string& bytes) const {
    write_bytes(folder_ / "x.nii", bytes);
    return folder_ / "x.nii";
  }

  TemporaryFolder folder_;
};

TEST_F(NiftiUnits, ImagesAreThoseOfMillimetres) {
  for (const Form form : {Form::none, Form::qform, Form::sform}) {
    const HostImage expected = read_image(file(image(form, millimetres)));
    for (const auto& [unit, name] : {std::pair(metres, "metres"), {micrometres, "micrometres"}}) {
      const HostImage read = read_image(file(image(form, unit)));
      EXPECT_TRUE(read.geometry.index_to_world().isApprox(expected.geometry.index_to_world(), 1e-6))
          << name << '\n'
          << read.geometry.index_to_world().matrix();
      EXPECT_EQ(read.geometry.space_code, expected.geometry.space_code) << name;
      EXPECT_EQ(read.voxels, expected.voxels) << name;
      ASSERT_EQ(read.warnings.size(), form == Form::none ? 2u : 1u) << name;
      EXPECT_NE(read.warnings[0].find(std::string("its lengths are in ") + name), std::string::npos)
          << read.warnings[0];
    }
  }
}

TEST_F(NiftiUnits, LabelsAndSeriesAreThoseOfMillimetres) {
  const std::string path = file(image(Form::sform, micrometres));
  const Geometry grid = read_image(path).geometry;
  EXPECT_TRUE(same_grid(read_labels(path).geometry, grid));
  SeriesReader series(file(image(Form::sform, micrometres, {2, 3, 2, 2})));
  EXPECT_NEAR(series.layout().geometry.spacing[0], 0.025, 1e-8);
  EXPECT_EQ(series.layout().nifti->units, millimetres | 8) << "as it is written";
}

TEST_F(NiftiUnits, TheHeaderIsTold) {
  const ImageHeader header = read_image_header(file(image(Form::sform, micrometres)));
  ASSERT_TRUE(header.geometry && header.nifti);
  EXPECT_EQ(header.nifti->length_unit, "micrometres");
  EXPECT_NEAR(header.geometry->spacing[2], 0.1, 1e-8);
  EXPECT_EQ(header.warnings.size(), 1u);
}

/// Their vectors are lengths as well, and in which unit nothing says.
TEST_F(NiftiUnits, FieldsAreRefused) {
  std::string bytes = image(Form::sform, micrometres, {2, 2, 2, 1, 3});
  put_at<std::int16_t>(bytes, 68, 1007);
  const std::string path = file(bytes);
  expect_io_error([&] { read_displacement(path); }, {path, "micrometres", "convert it"});
  EXPECT_EQ(detect(path), TransformFormat::itk);
  expect_io_error([&] { require_vectors(path); }, {path, "micrometres", "convert it"});
}

}  // namespace nifti_units_test
}  // namespace freeflow::test
