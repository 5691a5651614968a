// Images that can be read: round trips, voxel types, scaling, byte order, NaN.
#include <freeflow/io/image_file.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <freeflow/io/image_header.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/series_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

constexpr Extent odd_extent{13, 7, 5};
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

class ImageFormats : public testing::TestWithParam<const char*> {};

TEST_P(ImageFormats, RoundTripKeepsGeometryAndVoxels) {
  const TemporaryFolder folder;
  const std::string path = folder / (std::string("image") + GetParam());
  const Geometry grid = oblique_grid(odd_extent);
  const std::vector<float> voxels = random_values(odd_extent.count(), -1000, 3000);
  write_image(path, grid, voxels);
  const HostImage image = read_image(path);
  expect_same_place(image.geometry, grid);
  EXPECT_EQ(image.voxels, voxels);
  EXPECT_EQ(image.stored_type, StoredType::float32);
  EXPECT_EQ(image.nonfinite_voxels, 0u);
  EXPECT_TRUE(image.warnings.empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "temporary files remain";
}

TEST_P(ImageFormats, EveryStoredTypeKeepsSmallIntegers) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid(odd_extent);
  std::vector<float> voxels(odd_extent.count());
  for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = float(i % 120);
  for (int type = 0; type <= int(StoredType::float64); ++type) {
    const std::string path = folder / ("image" + std::to_string(type) + GetParam());
    write_image(path, grid, voxels, StoredType(type));
    const HostImage image = read_image(path);
    EXPECT_EQ(image.stored_type, StoredType(type)) << path;
    EXPECT_EQ(image.voxels, voxels) << path;
  }
}

TEST_P(ImageFormats, NonfiniteVoxelsAreNanAndCounted) {
  const TemporaryFolder folder;
  const std::string path = folder / (std::string("holes") + GetParam());
  std::vector<float> voxels = random_values(odd_extent.count(), 0, 1);
  voxels[3] = not_a_number;
  voxels[100] = infinity;
  voxels[454] = -infinity;
  write_image(path, oblique_grid(odd_extent), voxels);
  const HostImage image = read_image(path);
  EXPECT_EQ(image.nonfinite_voxels, 3u);
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    if (i == 3 || i == 100 || i == 454)
      EXPECT_TRUE(std::isnan(image.voxels[i])) << i;
    else
      EXPECT_EQ(image.voxels[i], voxels[i]) << i;
  }
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_EQ(image.warnings[0],
            "'" + path + "': 3 of 455 voxels are NaN or infinite and count as outside");
}

INSTANTIATE_TEST_SUITE_P(Io, ImageFormats, testing::Values(".nii", ".nii.gz", ".mha", ".nrrd"),
                         [](const auto& info) {
                           return std::string("Format") + std::to_string(info.index);
                         });

TEST(ImageFile, IntegersRoundAndClamp) {
  const TemporaryFolder folder;
  const std::string path = folder / "clamped.nii";
  const Geometry grid = oblique_grid({2, 2, 2});
  write_image(path, grid,
              std::vector<float>{-5.f, 1.4f, 1.6f, 254.6f, 300.f, not_a_number, 2.5f, infinity},
              StoredType::uint8);
  EXPECT_EQ(read_image(path).voxels, (std::vector<float>{0, 1, 2, 255, 255, 0, 2, 255}));
  write_image(path, grid, std::vector<float>{-1e30f, 1e30f, 0, 1, 2, 3, 4, 5}, StoredType::int64);
  const std::string bytes = read_bytes(path);
  EXPECT_EQ(value_at<std::int64_t>(bytes, 352), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value_at<std::int64_t>(bytes, 360), std::numeric_limits<std::int64_t>::max());
}

TEST(ImageFile, SlopeAndInterceptAreApplied) {
  const TemporaryFolder folder;
  std::string bytes = nifti_header({2, 2, 2}, 4, 16);
  put_at<float>(bytes, 112, 0.5f);
  put_at<float>(bytes, 116, -10.f);
  write_bytes(folder / "scaled.nii",
              bytes + bytes_of_values<std::int16_t>({0, 1, 2, 3, -4, 5, 6, 7}));
  EXPECT_EQ(read_image(folder / "scaled.nii").voxels,
            (std::vector<float>{-10, -9.5, -9, -8.5, -12, -7.5, -7, -6.5}));
}

TEST(ImageFile, AnInterceptThatIsNoNumberIsNone) {
  const TemporaryFolder folder;
  std::string bytes = nifti_header({2, 2, 2}, 2, 8);
  put_at<float>(bytes, 112, 0.5f);
  put_at<float>(bytes, 116, NAN);
  write_bytes(folder / "scaled.nii",
              bytes + bytes_of_values<std::uint8_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(read_image(folder / "scaled.nii").voxels,
            (std::vector<float>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5}));
}

/// As NIfTI's own library and ITK do.
TEST(ImageFile, VoxelsThatBeginNowhereFollowTheHeader) {
  const TemporaryFolder folder;
  std::string bytes = nifti_header({2, 2, 2}, 2, 8).substr(0, 348);
  put_at<float>(bytes, 108, 0.f);
  write_bytes(folder / "x.nii", bytes + bytes_of_values<std::uint8_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(read_image(folder / "x.nii").voxels, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ImageFile, ValuesAreReadInSeveralBlocks) {
  const TemporaryFolder folder;
  std::vector<std::int16_t> stored(97 * 97 * 170);  // three whole blocks and what is left
  ASSERT_GT(stored.size(), 3u << 19);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = std::int16_t(int(i % 30011) - 15000);
  std::string bytes = nifti_header({97, 97, 170}, 4, 16);
  put_at<float>(bytes, 112, 2.f);
  put_at<float>(bytes, 116, 1.f);
  bytes += bytes_of_values(stored);
  write_bytes(folder / "blocks.nii", bytes);
  const std::vector<float> voxels = read_image(folder / "blocks.nii").voxels;
  ASSERT_EQ(voxels.size(), stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) ASSERT_EQ(voxels[i], 2.f * stored[i] + 1) << i;
  write_bytes(folder / "cut.nii", bytes.substr(0, 352 + 2 * 1'000'000));
  expect_io_error([&] { read_image(folder / "cut.nii"); }, {"file ends after 1000000 of 1599530"});
}

TEST(ImageFile, DoublesThatFloatCannotHoldAreCounted) {
  const TemporaryFolder folder;
  const std::vector<double> stored{0, 1, 2, 1e300, 4, 5, 6, std::nan("")};
  write_bytes(folder / "large.nii", nifti_header({2, 2, 2}, 64, 64) + bytes_of_values(stored));
  EXPECT_EQ(read_image(folder / "large.nii").nonfinite_voxels, 2u);
}

TEST(ImageFile, OtherByteOrder) {
  const TemporaryFolder folder;
  const auto reverse = [](std::string bytes, std::size_t offset, std::size_t width,
                          std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      std::reverse(bytes.begin() + std::ptrdiff_t(offset + i * width),
                   bytes.begin() + std::ptrdiff_t(offset + (i + 1) * width));
    return bytes;
  };
  std::string bytes = nifti_header({3, 2, 2}, 4, 16);
  put_sform(bytes, 1, {1, 0, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7});
  bytes = reverse(reverse(reverse(bytes, 0, 4, 1), 40, 2, 8), 68, 2, 4);
  bytes = reverse(reverse(reverse(bytes, 76, 4, 11), 252, 2, 2), 256, 4, 18);
  write_bytes(
      folder / "big.nii",
      bytes + reverse(bytes_of_values<std::int16_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 300}), 0, 2,
                      12));
  const HostImage image = read_image(folder / "big.nii");
  EXPECT_EQ(image.voxels.back(), 300);
  EXPECT_EQ(image.voxels.front(), 1);
  EXPECT_EQ(image.geometry.origin, Eigen::Vector3d(-5, -6, 7));
}

TEST(ImageFile, FourthDimensionOfOneIsAVolume) {
  const TemporaryFolder folder;
  write_bytes(folder / "four.nii", nifti_header({2, 2, 2, 1}, 2, 8) + "abcdefgh");
  EXPECT_EQ(read_image(folder / "four.nii").voxels.size(), 8u);
}

TEST(ImageFile, HeaderAndDataInTwoFiles) {
  const TemporaryFolder folder;
  std::string header = nifti_header({2, 2, 2}, 2, 8).substr(0, 348);
  std::memcpy(header.data() + 344, "ni1", 4);
  put_at<float>(header, 108, 0.f);
  write_bytes(folder / "pair.hdr", header);
  write_bytes(folder / "pair.img", "abcdefgh");
  EXPECT_EQ(read_image(folder / "pair.hdr").voxels,
            (std::vector<float>{97, 98, 99, 100, 101, 102, 103, 104}));
  EXPECT_EQ(read_image(folder / "pair.img").voxels.size(), 8u);
  std::filesystem::remove(folder / "pair.img");
  expect_io_error([&] { read_image(folder / "pair.hdr"); }, {"pair.img': there is no such file"});
  write_bytes(folder / "PAIR.HDR", header);
  write_bytes(folder / "PAIR.IMG", "abcdefgh");
  for (const std::string name : {"PAIR.HDR", "PAIR.IMG"})
    EXPECT_EQ(read_image(folder / name).voxels[7], 104) << name;
  write_bytes(folder / "fsl.hdr.gz", header);
  write_bytes(folder / "fsl.img.gz", "abcdefgh");
  for (const std::string name : {"fsl.hdr.gz", "fsl.img.gz", "fsl.hdr", "fsl.img"})
    expect_io_error([&] { read_image(folder / name); }, {name, "fslchfiletype NIFTI_GZ"});

  write_bytes(folder / "other.mhd",
              "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nElementSpacing = 1 2 3\nElementType "
              "= MET_UCHAR\nElementDataFile = other.raw\n");
  write_bytes(folder / "other.raw", "abcdefgh");
  EXPECT_EQ(read_image(folder / "other.mhd").voxels[7], 104);
  EXPECT_EQ(read_image(folder / "other.mhd").geometry.spacing, Eigen::Vector3d(1, 2, 3));

  write_bytes(folder / "third.nhdr",
              "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: raw\nspacings: 1 2 "
              "3\ndata file: other.raw\n");
  EXPECT_EQ(read_image(folder / "third.nhdr").voxels[7], 104);
}

TEST(ImageFile, ColoursThatAreNoBytesAreVectorsInNifti) {
  const TemporaryFolder folder;
  const std::string values = bytes_of_values<std::uint16_t>(
      {1, 2, 300, 4, 500, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 240});
  write_bytes(folder / "c.nrrd",
              "NRRD0004\ntype: ushort\nendian: little\ndimension: 4\nsizes: 3 2 2 2\nencoding: "
              "raw\nspace: LPS\nspace directions: none (1,0,0) (0,1,0) (0,0,1)\nspace origin: "
              "(0,0,0)\nkinds: RGB-color domain domain domain\n\n" +
                  values);
  SeriesReader reader(folder / "c.nrrd");
  SeriesWriter writer(folder / "c.nii", reader.layout());
  writer.write(reader.read());
  writer.close();
  const SeriesLayout layout = SeriesReader(folder / "c.nii").layout();
  EXPECT_EQ(layout.components, 3);
  EXPECT_EQ(layout.stored_type, StoredType::uint16);
  const std::string written = read_bytes(folder / "c.nii").substr(352);
  ASSERT_EQ(written.size(), values.size());
  for (std::size_t voxel = 0; voxel < 8; ++voxel)
    for (std::size_t channel = 0; channel < 3; ++channel)
      EXPECT_EQ(written.substr(2 * (channel * 8 + voxel), 2),
                values.substr(2 * (3 * voxel + channel), 2));
}

TEST(ImageFile, ALabelThatIsNoIntegerIsNamedAsItIs) {
  const TemporaryFolder folder;
  Geometry g;
  g.extent = {2, 2, 2};
  write_image(folder / "dose.nii", g, std::vector<float>{0, 0, 1e-7f, 0, 0, 0, 0, 0},
              StoredType::float32, 1);
  try {
    read_labels(folder / "dose.nii");
    FAIL();
  } catch (const IoError& e) {
    EXPECT_NE(std::string(e.what()).find("no integer (1e-07)"), std::string::npos) << e.what();
  }
}

TEST(ImageFile, LengthsThatItkPassesOverAreSaid) {
  const TemporaryFolder folder;
  const std::string nrrd = "NRRD0005\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: raw\n",
                    meta = "NDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\n",
                    data = "ElementDataFile = LOCAL\nabcdefgh";
  const std::string uneven = "ITK_non_uniform_sampling_deviation";
  const std::array<std::pair<std::string, const char*>, 10> files{
      {{nrrd + "space: LPS\nspace units: \"um\" \"um\" \"um\"\n\nabcdefgh", "names um"},
       {nrrd + "spacings: 9 9 9\nUnits: \"Microns\" \"Microns\" \"\"\r\n\nabcdefgh",
        "names Microns"},
       {nrrd + "space: LPS\nspace units: \"mm\" \"mm\" \"mm\"\n\nabcdefgh", nullptr},
       {nrrd + "\nunits: um", nullptr},
       {meta + "DistanceUnits = um\n" + data, "names um"},
       {meta + "DistanceUnits = mm\n" + data, nullptr},
       {nrrd + "space: LPS\n" + uneven + ":=5.94495\n\nabcdefgh", "(5.94 mm off, says ITK)"},
       {nrrd + "space: LPS\n" + uneven + ":=0\n\nabcdefgh", nullptr},
       {meta + uneven + " = 1.00901\n" + data, "(1.01 mm off, says ITK)"},
       {meta + data, nullptr}}};
  for (const auto& [text, words] : files) {
    const std::string path = folder / (text[1] == 'R' ? "a.nrrd" : "a.mha");
    write_bytes(path, text);
    for (const auto& warnings : {read_image(path).warnings, read_image_header(path).warnings}) {
      ASSERT_EQ(warnings.size(), words ? 1U : 0U) << text;
      if (words) {
        EXPECT_NE(warnings[0].find(words), std::string::npos) << warnings[0];
      }
    }
  }
}

TEST(ImageFile, ExtensionsInCapitals) {
  const TemporaryFolder folder;
  write_bytes(folder / "LOUD.NII", nifti_header({2, 2, 2}, 2, 8) + "abcdefgh");
  EXPECT_EQ(read_image(folder / "LOUD.NII").voxels.size(), 8u);
}

TEST(ImageFile, ToVolumeCopiesToTheDevice) {
  HostImage image;
  image.geometry = oblique_grid({2, 2, 2});
  image.voxels = {1, 2, 3, 4, 5, 6, 7, 8};
  Context ctx(Device{}, 1);
  EXPECT_EQ(to_volume(ctx, image).to_host(ctx), image.voxels);
}

TEST(ImageFile, WriteErrors) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({2, 2, 2});
  const std::vector<float> voxels(8, 1.f);
  expect_io_error([&] { write_image(folder / "image.tif", grid, voxels); },
                  {"cannot write", "image.tif", ".nii.gz"});
  for (const char* name :
       {"missing/image.nii", "missing/image.nii.gz", "missing/image.mha", "missing/image.nrrd"})
    expect_io_error([&] { write_image(folder / name, grid, voxels); }, {"cannot write", name});
  EXPECT_THROW(write_image(folder / "short.nii", grid, std::vector<float>{1, 2}), InvalidArgument);
  Geometry long_grid = oblique_grid({40000, 1, 1});
  expect_io_error([&] { write_image(folder / "long.nii", long_grid, std::vector<float>(40000)); },
                  {"at most 32767 voxels"});
  EXPECT_TRUE(folder.empty());
}

}  // namespace
}  // namespace freeflow::test
