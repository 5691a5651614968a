// Inputs that fuzzing (tests/fuzz) or reading for it has found: what each did stands beside it.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/image_header.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/ply_check.h>
#include <freeflow/io/raw_data_check.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/transform_formats.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::string metaimage(const std::string& fields, const std::string& voxels) {
  return "ObjectType = Image\n" + fields + "ElementDataFile = LOCAL\n" + voxels;
}

/// 4 x 3 x 2 voxels of 3-vectors in NIfTI, five-dimensional unless `sizes` says otherwise.
std::string vectors(const std::vector<int>& sizes = {4, 3, 2, 1, 3}, float value = 1) {
  std::string bytes = nifti_header(sizes, 16, 32);
  std::size_t count = 1;
  for (const int size : sizes) count *= std::size_t(size);
  for (std::size_t i = 0; i < count; ++i)
    bytes += bytes_of_values(std::vector<float>{value + float(i % 7)});
  put_at<std::int16_t>(bytes, 68, 1007);
  return bytes;
}

/// Two images of one grid.
TransformContext small_images() {
  TransformContext context;
  context.fixed = context.moving = Geometry{{5, 6, 7}};
  return context;
}

TEST(FuzzFindings, BytesOfVoxelsThatWrapAround) {
  // 2147352580 voxels of 1073807362 doubles are 2^64 + 64 bytes: 64 of them were enough.
  const TemporaryFolder folder;
  write_bytes(folder / "x.mha", metaimage("NDims = 3\nDimSize = 4 5 107367629\n"
                                          "ElementType = MET_DOUBLE\n"
                                          "ElementNumberOfChannels = 1073807362\n",
                                          std::string(64, 'v')));
  expect_io_error([&] { check_raw_data(folder / "x.mha", FileFormat::metaimage); },
                  {"file ends after 0 of 2147352580 voxels"});
}

TEST(FuzzFindings, AHeaderOfASliceThatIsTooLarge) {
  // regtool info described a volume that nothing could take.
  const TemporaryFolder folder;
  write_bytes(folder / "x.nii", nifti_header({4, 29443, 26988}, 4, 16) + "some voxels");
  expect_io_error([&] { read_image_header(folder / "x.nii"); },
                  {"4 x 29443 x 26988 voxels are more than 536870912 in a slice"});
}

TEST(FuzzFindings, SizesOfWhichItkReadsMore) {
  // Ours ended at a byte that is no number; ITK's went on, and regtool info described a volume that
  // nothing could take.
  const TemporaryFolder folder;
  write_bytes(folder / "x.nrrd",
              "NRRD0004\ntype: float\ndimension: 3\nsizes: 2\xb0\xb0 3 1316134911\n"
              "endian: little\nencoding: raw\n\nsome voxels");
  const std::initializer_list<std::string> sentence = {"2 x 3 x 1316134911 voxels are more"};
  expect_io_error([&] { read_image_header(folder / "x.nrrd"); }, sentence);
  expect_io_error([&] { read_geometry(folder / "x.nrrd"); }, sentence);
  expect_io_error([&] { read_image(folder / "x.nrrd"); }, sentence);
}

TEST(FuzzFindings, MoreOfAnNrrdThanItkHasRoomFor) {
  // Its reader refused a line in a sentence of its own that overflowed its buffer: abort().
  const TemporaryFolder folder;
  const std::string header =
      "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 2\nspacings: 1 1 1\nencoding: raw\n";
  const auto write = [&](const std::string& path, const std::string& lines) {
    write_bytes(path, header + lines + "\n\nvoxels..");
    return path;
  };
  const std::string text(1100, 'x'), x = folder / "x.nrrd";
  for (const std::string& line :
       {"thicknesses: " + text, "kinds: " + text, "space: " + text, "no field: " + text, text,
        std::string(1100, ' '), "content:" + text, "kinds: " + text + "\ncontent: x"})
    expect_io_error([&] { read_image_header(write(x, line)); },
                    {"x.nrrd': its header has a line of 11", "up to 800"});
  for (const std::string& line : {"# " + text, "content: " + text, "key:=" + text})
    EXPECT_EQ(read_image(write(x, line)).voxels.size(), 8u) << line;
  write_bytes(x, "NRRD0004" + text + header.substr(8) + "\nvoxels..");
  expect_io_error([&] { read_image(x); }, {"its header has a line of 1108"});

  std::string deep = folder.path();
  while (deep.size() < 850) deep += "/" + std::string(200, 'd');
  std::filesystem::create_directories(deep);
  expect_io_error([&] { read_geometry(write(deep + "/x.nrrd", "kinds: a b")); },
                  {"it lies at a path of"});
  const std::string there = deep.substr(folder.path().size() + 1) + "/x.raw";
  write_bytes(folder / there, "voxels..");
  expect_io_error([&] { read_image(write(folder / "x.nhdr", "data file: " + there)); },
                  {"x.nhdr': its header has a line of"});
}

TEST(FuzzFindings, MoreDimensionsThanMetaIoHasRoomFor) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.mha",
              metaimage("NDims = 12\nDimSize = 2 2 2 1 1 1 1 1 1 1 1 1\nElementType = MET_UCHAR\n",
                        std::string(8, 'v')));
  expect_io_error([&] { read_image(folder / "x.mha"); }, {"declares 12 dimensions"});
}

TEST(FuzzFindings, ASentenceIsOneLineOfText) {
  // Words of a file went into the sentence as they were, 60 kB of them or the bell.
  const TemporaryFolder folder;
  const auto sentence_of = [&](const std::string& type) {
    write_bytes(folder / "x.mha",
                metaimage("NDims = 3\nDimSize = 2 2 2\nElementType = " + type + "\n", "voxels"));
    try {
      read_image(folder / "x.mha");
    } catch (const IoError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(sentence_of("MET\a\x1b[31m\rX").find("'MET??[31m?X' is not supported"),
            std::string::npos);
  const std::string cut = sentence_of(std::string(60000, 'y'));
  EXPECT_LT(cut.size(), 1000U);
  EXPECT_TRUE(cut.ends_with("yyy...")) << cut;
  write_bytes(folder / "y.mha",
              "NDims = 3\nDimSize = 2 2 2\nElementType = MET_FLOAT\nElementDataFile = LO\x14L\n");
  expect_io_error([&] { read_image(folder / "y.mha"); }, {"damaged", "'LO?L'"});
  EXPECT_EQ(one_line("gr\u00f6\u00dfer"), "gr\u00f6\u00dfer");
  const std::string umlauts = one_line("x" + std::string(200, '\xc3'));
  EXPECT_LT(umlauts.size(), 410U);
}

TEST(FuzzFindings, AFieldOfOneVoxelAlongX) {
  // Looking for a stride that is no multiple of 1 had no end.
  const TemporaryFolder folder;
  write_bytes(folder / "x.mha",
              metaimage("NDims = 3\nDimSize = 1 201 200\nElementType = MET_UCHAR\n"
                        "ElementNumberOfChannels = 3\n",
                        std::string(3 * 201 * 200, 'v')));
  expect_io_error([&] { read_transform_file(folder / "x.mha", TransformFormat::itk); },
                  {"2-D image (1 x 201 x 200 voxels)"});
}

TEST(FuzzFindings, AFieldWhoseVoxelsAreNextToNothing) {
  // Its vectors are finite in millimetres and not in voxels.
  const TemporaryFolder folder;
  std::string bytes = vectors({4, 3, 2, 1, 3}, 1e30F);
  put_sform(bytes, 1, {1e-20F, 0, 0, 0, 0, 1e-20F, 0, 0, 0, 0, 1e-20F, 0});
  for (const std::size_t axis : {80, 84, 88}) put_at<float>(bytes, axis, 1e-20F);
  write_bytes(folder / "x.nii", bytes);
  expect_io_error([&] { read_displacement(folder / "x.nii"); }, {"not finite"});
}

TEST(FuzzFindings, ElementsWithoutAPropertyInPly) {
  // 10^18 vertices of no coordinates fit into no bytes, and VTK allocates them.
  const TemporaryFolder folder;
  write_bytes(folder / "x.ply",
              "ply\nformat ascii 1.0\nelement vertex 1000000000000000000\nend_header\n");
  expect_io_error([&] { check_ply(folder / "x.ply"); },
                  {"declares 1000000000000000000 elements 'vertex' without a property"});
}

TEST(FuzzFindings, APathOfATableWithControlCharacters) {
  // The sentence named it as it was: a template's table may say image, line break, a\x16.nii.
  expect_io_error([&] { size_of_readable_file("a\x16.nii"); },
                  {"cannot read 'a?.nii': there is no such file"});
}

TEST(FuzzFindings, AListOfNanCornersInPly) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.ply",
              "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nelement face 1\n"
              "property list uchar int vertex_indices\nend_header\n0\nnan 0 0 0\n");
  expect_io_error([&] { check_ply(folder / "x.ply"); }, {"breaks off in element 'face' 1 of 1"});
}

TEST(FuzzFindings, MatricesWhoseInverseIsNotFinite) {
  // Each gave a transform of numbers that are not finite.
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, TransformFormat format,
                           const std::string& text) {
    write_bytes(folder / name, text);
    expect_io_error([&] { read_transform_file(folder / name, format, small_images()); },
                    {"singular or not finite"});
  };
  refused("x.mat", TransformFormat::fsl, "1 0 0 0\n0 1 0 0\n0 0 1e-11 1e308\n0 0 0 1\n");
  const std::string volume =
      "valid = 1\nvolume = 4 3 2\nvoxelsize = 0 2 2\nxras = -1 0 0\nyras = 0 0 -1\n"
      "zras = 0 1 0\ncras = 0 0 0\n";
  refused("x.lta", TransformFormat::freesurfer,
          "type = 0\nnxforms = 1\n1 4 4\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\nsrc volume info\n" +
              volume + "dst volume info\n" + volume);
}

TEST(FuzzFindings, TransformsOfFewerNumbersThanTheirTypeHas) {
  // ITK's TranslationTransform read them all the same: a segmentation fault.
  const TemporaryFolder folder;
  const std::string head = "#Insight Transform File V1.0\n#Transform 0\n";
  const auto refused = [&](const std::string& numbers, const std::string& words) {
    write_bytes(folder / "x.tfm",
                head + "Transform: TranslationTransform_double_3_3\n" + numbers + "\n");
    expect_io_error([&] { read_affine(folder / "x.tfm"); }, {words});
  };
  refused("Parameters:%1 2 3", "as many numbers");
  refused("Parameters: 1 2", "as many numbers");
  refused("Parameters: 1 2 3 4", "as many numbers");
  refused("Parameters: 1 2 %3", "a number '%3'");
  refused("", "as many numbers");
  write_bytes(folder / "x.tfm", head + "Parameters: 1 2 3\n");
  expect_io_error([&] { read_affine(folder / "x.tfm"); }, {"before it names a transform"});
}

TEST(FuzzFindings, AKindOfNiftyRegThatIsNoNumber) {
  const TemporaryFolder folder;
  for (const float kind : {nan, 1e30F, -1e30F, -0.5F}) {
    std::string bytes = vectors();
    bytes.replace(328, 10, "NREG_TRANS");
    put_at<float>(bytes, 56, kind);
    write_bytes(folder / "x.nii", bytes);
    expect_io_error(
        [&] { read_transform_file(folder / "x.nii", TransformFormat::niftyreg, small_images()); },
        {"intent_p1"});
  }
}

TEST(FuzzFindings, ControlPointsFarFromTheImage) {
  // The index of the first one about a voxel was no int.
  const TemporaryFolder folder;
  std::string bytes = vectors();
  bytes.replace(328, 10, "NREG_TRANS");
  put_at<float>(bytes, 56, 2);
  put_sform(bytes, 1, {1e-12F, 0, 0, 9e8F, 0, 1e-12F, 0, 0, 0, 0, 1e-12F, 0});
  write_bytes(folder / "x.nii", bytes);
  expect_io_error(
      [&] { read_transform_file(folder / "x.nii", TransformFormat::niftyreg, small_images()); },
      {"do not cover"});
}

}  // namespace
}  // namespace freeflow::test
