// Labels as 64 bits, and the types that can hold them.
#include <freeflow/io/stored_voxels.h>

#include <freeflow/io/label_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace stored_voxels_test {

using Labels = std::vector<std::uint64_t>;

std::vector<unsigned char> stored(StoredType type, const Labels& labels,
                                  StoredType from = StoredType::int64) {
  return from_labels("x.nii", type, labels, from);
}

TEST(StoredLabels, UnsignedOnesBeyondTheSignedStayWhatTheyAre) {
  const Labels large{(std::uint64_t(1) << 63) + 5, 7};
  const std::vector<unsigned char> bytes = stored(StoredType::uint64, large, StoredType::uint64);
  EXPECT_EQ(to_labels("x.nii", StoredType::uint64, bytes.data(), 2), large);
  const Labels negative{std::uint64_t(std::int64_t(-3))};
  EXPECT_EQ(to_labels("x.nii", StoredType::int16, stored(StoredType::int16, negative).data(), 1),
            negative);
  expect_io_error([&] { stored(StoredType::uint16, negative); }, {"label -3 does not fit"});
  expect_io_error([&] { stored(StoredType::int64, large, StoredType::uint64); },
                  {"label 9223372036854775813 does not fit"});
}

TEST(StoredLabels, AFloatHoldsThoseThatItHoldsExactly) {
  EXPECT_NO_THROW(stored(StoredType::float32, {1 << 24}));
  expect_io_error([] { stored(StoredType::float32, {(1 << 24) + 1}); },
                  {"label 16777217 does not fit"});
  expect_io_error([] { stored(StoredType::float32, {~std::uint64_t(0)}, StoredType::uint64); },
                  {"does not fit"});
}

TEST(StoredLabels, OfFloatsAreIntegersUpToTwoToThe53) {
  const auto read = [](double value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
    return to_labels("x.nii", StoredType::float64, bytes, 1)[0];
  };
  EXPECT_EQ(read(9007199254740992), std::uint64_t(1) << 53);
  EXPECT_EQ(read(-5), std::uint64_t(std::int64_t(-5)));
  for (const double none : {9007199254740994.0, -1e17, 0.5, double(NAN), double(INFINITY)})
    expect_io_error([&] { read(none); }, {"a voxel of it is no integer"});
}

TEST(StoredLabels, OfACompressedFileWithoutItsLastBytesAreRefused) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.nii", nifti_header({4, 4, 4}, 2, 8) + std::string(64, '\1'));
  gzip_file(folder / "x.nii", folder / "x.nii.gz");
  EXPECT_EQ(read_labels(folder / "x.nii.gz").labels, Labels(64, 1));
  const std::string bytes = read_bytes(folder / "x.nii.gz");
  write_bytes(folder / "x.nii.gz", bytes.substr(0, bytes.size() - 4));
  expect_io_error([&] { read_labels(folder / "x.nii.gz"); }, {"checksum"});
}

TEST(StoredLabels, ScaledOnesVectorsAndVolumesAreNone) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& words) {
    write_bytes(folder / "x.nii", bytes + std::string(64, '\1'));
    expect_io_error([&] { read_labels(folder / "x.nii"); }, {words});
  };
  refused(nifti_header({2, 2, 2, 2}, 2, 8), "several volumes");
  refused(nifti_header({2, 2, 2, 1, 3}, 2, 8), "several volumes or vectors");
  for (const auto& [slope, intercept] : {std::pair(2.f, 0.f), {1.f, 3.f}}) {
    std::string scaled = nifti_header({2, 2, 2}, 2, 8);
    put_at<float>(scaled, 112, slope);
    put_at<float>(scaled, 116, intercept);
    refused(scaled, "scales the values");
  }
}

TEST(StoredLabels, AnImagesVoxelsMayBeCompressedBesideItsHeader) {
  const TemporaryFolder folder;
  std::string header = nifti_header({4, 4, 4}, 2, 8).substr(0, 348);
  put_at<float>(header, 108, 0.f);
  std::memcpy(header.data() + 344, "ni1", 4);
  write_bytes(folder / "x.hdr", header);
  write_bytes(folder / "voxels", std::string(64, '\2'));
  gzip_file(folder / "voxels", folder / "x.img.gz");
  for (const char* name : {"x.hdr", "x.img.gz"})
    EXPECT_EQ(read_labels(folder / name).labels, Labels(64, 2)) << name;
}

}  // namespace stored_voxels_test
}  // namespace freeflow::test
