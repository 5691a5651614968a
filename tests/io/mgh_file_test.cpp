// FreeSurfer's .mgz and .mgh: files made here byte by byte, and our own read again.
#include <algorithm>
#include <cmath>
#include <limits>

#include <freeflow/io/image_file.h>
#include <freeflow/io/image_header.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/series_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace mgh_file_test {

constexpr Extent odd_extent{13, 7, 5};

template <class T>
void append(std::string& bytes, T value) {
  std::string one(sizeof value, '\0');
  put_at(one, 0, value);
  bytes.append(one.rbegin(), one.rend());
}

struct Parts {
  int version = 1, x = 2, y = 3, z = 4, volumes = 1, type = 4;
  bool oriented = true;
};

/// Of 2 x 3 x 4 voxels of 1, 2 and 3 mm, sagittal slices, centred at (10, -20, 30) mm RAS.
std::string header(const Parts& parts = {}) {
  std::string bytes;
  for (const int value :
       {parts.version, parts.x, parts.y, parts.z, parts.volumes, parts.type, 0 /* unused */})
    append<std::int32_t>(bytes, value);
  append<std::int16_t>(bytes, parts.oriented ? 1 : 0);
  for (const float value : {1.f, 2.f, 3.f, /* axis x */ 0.f, -1.f, 0.f, /* y */ 0.f, 0.f, -1.f,
                            /* z */ 1.f, 0.f, 0.f, /* centre */ 10.f, -20.f, 30.f})
    append<float>(bytes, value);
  bytes.resize(284, '\0');
  return bytes;
}

template <class T>
std::string counted_voxels(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) append(bytes, T(i + 1));
  return bytes;
}

void expect_counted(const std::string& path, StoredType type) {
  const HostImage image = read_image(path);
  EXPECT_EQ(image.stored_type, type) << path;
  ASSERT_EQ(image.voxels.size(), 24u);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(image.voxels[i], float(i + 1)) << path;
}

TEST(MghFile, EveryTypeIsReadAsItWasWrittenByteByByte) {
  const TemporaryFolder folder;
  const auto make = [&](const std::string& name, int type, const std::string& voxels) {
    write_bytes(folder / (name + ".mgh"), header({.type = type}) + voxels);
    gzip_file(folder / (name + ".mgh"), folder / (name + ".mgz"));
  };
  make("uint8", 0, counted_voxels<std::uint8_t>(24));
  make("int32", 1, counted_voxels<std::int32_t>(24));
  make("float32", 3, counted_voxels<float>(24));
  make("int16", 4, counted_voxels<std::int16_t>(24));
  make("uint16", 10, counted_voxels<std::uint16_t>(24));
  for (const auto& [name, type] : {std::pair{"uint8", StoredType::uint8},
                                   {"int32", StoredType::int32},
                                   {"float32", StoredType::float32},
                                   {"int16", StoredType::int16},
                                   {"uint16", StoredType::uint16}})
    for (const std::string extension : {".mgh", ".mgz"})
      expect_counted(folder / (name + extension), type);
}

// FreeSurfer: voxel (width, height, depth) / 2 lies at the centre c_ras.
TEST(MghFile, LiesWhereItsCentreAndAxesSay) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.mgh", header() + counted_voxels<std::int16_t>(24));
  const Geometry grid = read_geometry(folder / "a.mgh");
  const Eigen::Affine3d to_lps = grid.index_to_world();
  const Eigen::Vector3d centre = to_lps * Eigen::Vector3d(1, 1.5, 2);
  EXPECT_LT((centre - Eigen::Vector3d(-10, 20, 30)).norm(), 1e-6);
  EXPECT_LT((to_lps.linear().col(0) - Eigen::Vector3d(0, 1, 0)).norm(), 1e-6);
  EXPECT_LT((to_lps.linear().col(1) - Eigen::Vector3d(0, 0, -2)).norm(), 1e-6);
  EXPECT_LT((to_lps.linear().col(2) - Eigen::Vector3d(-3, 0, 0)).norm(), 1e-6);
  const ImageHeader said = read_image_header(folder / "a.mgh");
  EXPECT_EQ(said.format, "MGH");
  EXPECT_EQ(said.stored_type, "int16");
  EXPECT_TRUE(said.is_scalar_volume());
  expect_same_place(*said.geometry, grid);
}

TEST(MghFile, WithoutOrientationItIsCoronalAsFreeSurferTakesIt) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.mgh", header({.oriented = false}) + counted_voxels<std::int16_t>(24));
  const HostImage image = read_image(folder / "a.mgh");
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("declares no orientation"), std::string::npos);
  const Eigen::Affine3d to_lps = image.geometry.index_to_world();
  EXPECT_LT((to_lps * Eigen::Vector3d(1, 1.5, 2)).norm(), 1e-6);
  EXPECT_LT((to_lps.linear().col(0) - Eigen::Vector3d(1, 0, 0)).norm(), 1e-6);
  EXPECT_LT((to_lps.linear().col(1) - Eigen::Vector3d(0, 0, -1)).norm(), 1e-6);
  EXPECT_LT((to_lps.linear().col(2) - Eigen::Vector3d(0, -1, 0)).norm(), 1e-6);
}

TEST(MghFile, RoundTripsKeepPlaceAndVoxels) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid(odd_extent);
  std::vector<float> voxels = random_values(odd_extent.count(), -1000, 3000), whole = voxels;
  voxels[3] = std::numeric_limits<float>::quiet_NaN();
  for (float& voxel : whole) voxel = std::abs(std::round(voxel / 16));
  for (const std::string name : {"a.mgz", "a.mgh", "A.MGZ"}) {
    const std::string path = folder / name;
    write_image(path, grid, voxels);
    HostImage image = read_image(path);
    expect_same_place(image.geometry, grid);
    EXPECT_EQ(image.nonfinite_voxels, 1u);
    EXPECT_TRUE(std::isnan(image.voxels[3]));
    image.voxels[3] = voxels[3] = 7;
    EXPECT_EQ(image.voxels, voxels);
    voxels[3] = std::numeric_limits<float>::quiet_NaN();
    for (const StoredType type :
         {StoredType::uint8, StoredType::int16, StoredType::uint16, StoredType::int32}) {
      write_image(path, grid, whole, type);
      const HostImage read = read_image(path);
      EXPECT_EQ(read.stored_type, type) << path;
      EXPECT_EQ(read.voxels, whole) << path;
    }
  }
}

TEST(MghFile, LabelsAreExact) {
  const TemporaryFolder folder;
  HostLabels labels;
  labels.geometry = oblique_grid({2, 2, 2});
  labels.stored_type = StoredType::int32;
  labels.labels = {0, 17, 2035, 16777217, 2147483647, std::uint64_t(-1), 1, 1};
  write_labels(folder / "aparc.mgz", labels);
  const HostLabels read = read_labels(folder / "aparc.mgz");
  EXPECT_EQ(read.labels, labels.labels);
  EXPECT_EQ(read.stored_type, StoredType::int32);
}

TEST(MghFile, SeriesKeepTheirVolumesAndStep) {
  const TemporaryFolder folder;
  SeriesLayout layout;
  layout.geometry = oblique_grid(odd_extent);
  layout.volumes = 3;
  layout.step = 2.5;
  const std::vector<float> values = random_values(3 * odd_extent.count(), 0, 1);
  const std::string bytes = bytes_of_values(values);
  SeriesWriter writer(folder / "bold.mgz", layout);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string plane = bytes.substr(i * bytes.size() / 3, bytes.size() / 3);
    writer.write({plane.begin(), plane.end()});
  }
  writer.close();
  SeriesReader reader(folder / "bold.mgz");
  EXPECT_EQ(reader.layout().volumes, 3);
  EXPECT_NEAR(reader.layout().step, 2.5, 1e-6);
  std::string read;
  for (std::vector<unsigned char> plane = reader.read(); !plane.empty(); plane = reader.read())
    read.append(plane.begin(), plane.end());
  EXPECT_EQ(read, bytes);
  expect_io_error([&] { read_image(folder / "bold.mgz"); }, {"it holds 3 volumes"});
  EXPECT_EQ(read_image_header(folder / "bold.mgz").size,
            (std::vector<std::int64_t>{odd_extent.x, odd_extent.y, odd_extent.z, 3}));
}

TEST(MghFile, WhatIsDamagedOrNoImageIsRefused) {
  const TemporaryFolder folder;
  const std::string voxels = counted_voxels<std::int16_t>(24);
  const auto refused = [&](const std::string& bytes, const std::string& sentence) {
    write_bytes(folder / "a.mgh", bytes);
    gzip_file(folder / "a.mgh", folder / "a.mgz");
    for (const std::string name : {"a.mgh", "a.mgz"})
      expect_io_error([&] { read_image(folder / name); }, {name, sentence});
  };
  refused(header().substr(0, 200), "it ends within its header");
  refused(header({.version = 2}) + voxels, "it is not an MGH file");
  refused(header({.version = 0x301}) + voxels, "it is a warp of FreeSurfer");
  refused(header({.type = 6}) + voxels, "its MGH data type 6 is not supported");
  refused(header({.x = 0}) + voxels, "a size of 0 x 3 x 4");
  refused(header({.volumes = -1}) + voxels, "2 x 3 x 4 x -1");
  refused(header({.x = 24, .y = 1, .z = 1}) + voxels, "it is a 2-D image");
  refused(header({.x = 20000, .y = 20000, .z = 20000}) + voxels, "that can be used");
  std::string far = header();
  for (std::size_t i = 30; i < 42; ++i) far[i] = '\x7f';
  refused(far + voxels, "a position that is not finite");
  write_bytes(folder / "short.mgh", header() + voxels.substr(0, 40));
  expect_io_error([&] { read_image(folder / "short.mgh"); }, {"file ends after 20 of 24 voxels"});
  gzip_file(folder / "short.mgh", folder / "short.mgz");
  expect_io_error([&] { read_image(folder / "short.mgz"); }, {"file ends after 20 of 24 voxels"});
  write_bytes(folder / "whole.mgh", header() + voxels);
  gzip_file(folder / "whole.mgh", folder / "cut.mgz");
  const std::string packed = read_bytes(folder / "cut.mgz");
  write_bytes(folder / "cut.mgz", packed.substr(0, packed.size() - 6));
  expect_io_error([&] { read_image(folder / "cut.mgz"); }, {"checksum"});
}

TEST(MghFile, AFileThatNamesItsIntentIsAnImage) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.mgh", header({.version = 0x101}) + counted_voxels<std::int16_t>(24));
  expect_counted(folder / "a.mgh", StoredType::int16);
  for (const int warp : {0x301, 0x401}) {  // and its inverse
    write_bytes(folder / "w.mgh", header({.version = warp}) + counted_voxels<std::int16_t>(24));
    expect_io_error([&] { read_image(folder / "w.mgh"); }, {"it is a warp of FreeSurfer"});
  }
}

TEST(MghFile, WhatItCannotHoldIsNotWritten) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({2, 2, 2});
  const std::vector<float> voxels(8, 1);
  expect_io_error([&] { write_image(folder / "a.mgz", grid, voxels, StoredType::float64); },
                  {"MGH files hold uint8, int16, uint16, int32 and float32 alone"});
  SeriesLayout layout;
  layout.geometry = grid;
  layout.components = layout.planes_at_once = 3;
  expect_io_error([&] { SeriesWriter(folder / "a.mgz", layout); }, {"neither vectors nor colours"});
  EXPECT_TRUE(folder.empty());
}

}  // namespace mgh_file_test
}  // namespace freeflow::test
