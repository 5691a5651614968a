// Images that cannot be used: each gives one sentence and allocates nothing that a header only
// claims.
#include <freeflow/io/image_file.h>

#include <limits>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

void expect_refused(const std::string& path, std::vector<std::string> parts) {
  parts.push_back("cannot read '" + path + "': ");
  expect_io_error([&] { read_image(path); }, parts);
}

/// 20 x 20 x 20 random floats, of which nothing compresses away.
void write_sample(const std::string& path) {
  write_image(path, oblique_grid({20, 20, 20}), random_values(8000, 0, 1));
}

void cut(const std::string& path, double share) {
  const std::string bytes = read_bytes(path);
  write_bytes(path, bytes.substr(0, std::size_t(double(bytes.size()) * share)));
}

TEST(BadImage, TruncatedNifti) {
  const TemporaryFolder folder;
  write_sample(folder / "x.nii");
  write_bytes(folder / "x.nii", read_bytes(folder / "x.nii").substr(0, 352 + 4 * 12 + 3));
  expect_refused(folder / "x.nii", {"file ends after 12 of 8000 voxels"});
}

TEST(BadImage, TruncatedCompressedNifti) {
  const TemporaryFolder folder;
  write_sample(folder / "x.nii.gz");
  cut(folder / "x.nii.gz", 0.6);
  expect_refused(folder / "x.nii.gz", {"file ends after 4", " of 8000 voxels"});
}

TEST(BadImage, CompressedNiftiWithoutItsLastBytes) {
  const TemporaryFolder folder;
  write_sample(folder / "x.nii.gz");
  const std::string bytes = read_bytes(folder / "x.nii.gz");
  write_bytes(folder / "x.nii.gz", bytes.substr(0, bytes.size() - 5));
  expect_refused(folder / "x.nii.gz", {"file ends within the checksum"});
}

TEST(BadImage, DamagedCompressedNifti) {
  const TemporaryFolder folder;
  write_sample(folder / "x.nii.gz");
  std::string bytes = read_bytes(folder / "x.nii.gz");
  std::string wrong_sum = bytes;
  wrong_sum[bytes.size() - 6] ^= 1;
  write_bytes(folder / "x.nii.gz", wrong_sum);
  expect_refused(folder / "x.nii.gz", {"compressed data are damaged"});
}

TEST(BadImage, TruncatedMetaImageAndNrrd) {
  const TemporaryFolder folder;
  for (const std::string name : {"x.mha", "x.nrrd"}) {
    write_sample(folder / name);
    cut(folder / name, 0.5);
    expect_refused(folder / name, {"file ends after 3", " of 8000 voxels"});
  }
}

TEST(BadImage, HeadersThatPromiseMoreThanTheFileHolds) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.nii", nifti_header({1000, 1000, 1000}, 16, 32) + "few");
  expect_refused(folder / "a.nii", {"file ends after 0 of 1000000000 voxels"});
  gzip_file(folder / "a.nii", folder / "a.nii.gz");
  expect_refused(folder / "a.nii.gz",
                 {"declares 1000000000 voxels, more than", "compressed bytes can hold"});
  write_bytes(folder / "b.nii", nifti_header({30000, 30000, 30000}, 16, 32) + "few");
  expect_refused(folder / "b.nii", {"30000 x 30000 x 30000 voxels are more than the 12000000000"});
  write_bytes(folder / "c.mha",
              "ObjectType = Image\nNDims = 3\nDimSize = 99999999999 99999999999 "
              "9999999999\nElementType = MET_FLOAT\nElementDataFile = LOCAL\nfew");
  expect_refused(folder / "c.mha", {"more than the 12000000000"});
  write_bytes(folder / "d.mha",
              "ObjectType = Image\nNDims = 3\nDimSize = 1000 1000 1000\nElementType = "
              "MET_FLOAT\nCompressedData = True\nCompressedDataSize "
              "= 3\nElementDataFile = LOCAL\nfew");
  expect_refused(folder / "d.mha", {"more than 3 compressed bytes can hold"});
  write_bytes(folder / "e.nrrd",
              "NRRD0004\ntype: float\ndimension: 3\nsizes: 1000 1000 1000\nencoding: gzip\n\nfew");
  expect_refused(folder / "e.nrrd", {"more than 3 compressed bytes can hold"});
}

TEST(BadImage, CompressedMetaImage) {
  const TemporaryFolder folder;
  const std::vector<float> values = random_values(8000, 0, 1);
  const std::string voxels = bytes_of_values(values);
  const auto write_meta = [&](const std::string& raw, bool with_size, bool damaged) {
    write_bytes(folder / "raw", raw);
    gzip_file(folder / "raw", folder / "raw.gz");
    std::string data = read_bytes(folder / "raw.gz");
    if (damaged) data[data.size() - 6] ^= 1;
    write_bytes(
        folder / "x.mha",
        "ObjectType = Image\nNDims = 3\nDimSize = 20 20 20\nElementType = "
        "MET_FLOAT\nCompressedData = True\n" +
            (with_size ? "CompressedDataSize = " + std::to_string(data.size()) + "\n" : "") +
            "ElementDataFile = LOCAL\n" + data);
  };
  write_meta(voxels, true, false);
  EXPECT_EQ(read_image(folder / "x.mha").voxels, values);
  write_meta(voxels.substr(0, 4 * 6000), true, false);
  expect_refused(folder / "x.mha", {"file ends after 6000 of 8000 voxels"});
  write_meta(voxels, true, true);
  expect_refused(folder / "x.mha", {"compressed data are damaged"});
  write_meta(voxels, false, false);
  expect_refused(folder / "x.mha", {"lacks the CompressedDataSize"});
  write_meta(voxels, true, false);
  cut(folder / "x.mha", 0.5);
  expect_refused(folder / "x.mha", {"file ends after ", " of 8000 voxels"});
}

TEST(BadImage, NotOneVolume) {
  const TemporaryFolder folder;
  const std::string data(64, 'a');
  write_bytes(folder / "two.nii", nifti_header({4, 4}, 2, 8) + data);
  expect_refused(folder / "two.nii", {"2-D image (4 x 4 x 1 voxels)"});
  write_bytes(folder / "flat.nii", nifti_header({4, 4, 1}, 2, 8) + data);
  expect_refused(folder / "flat.nii", {"2-D image"});
  write_bytes(folder / "wall.nii", nifti_header({4, 1, 4}, 2, 8) + data);
  expect_refused(folder / "wall.nii", {"2-D image (4 x 1 x 4 voxels)"});
  write_bytes(folder / "four.nii", nifti_header({2, 2, 2, 4}, 2, 8) + data);
  expect_refused(folder / "four.nii", {"it holds 4 volumes; extract one of them"});
  write_bytes(folder / "zero.nii", nifti_header({4, 0, 4}, 2, 8) + data);
  expect_refused(folder / "zero.nii", {"size of 4 x 0 x 4 voxels"});
  write_bytes(folder / "negative.nii", nifti_header({4, -4, 4}, 2, 8) + data);
  expect_refused(folder / "negative.nii", {"size of 4 x -4 x 4 voxels"});
  write_bytes(folder / "vector.nii", nifti_header({2, 2, 2, 1, 3}, 2, 8) + data);
  expect_refused(folder / "vector.nii", {"vectors of 3 components"});
  write_bytes(folder / "six.nii", nifti_header({2, 2, 2, 1, 1, 2}, 2, 8) + data);
  expect_refused(folder / "six.nii", {"too many dimensions"});
  write_bytes(folder / "seven.nii", nifti_header({2, 2, 2, 1, 1, 1, 2}, 2, 8) + data);
  expect_refused(folder / "seven.nii", {"too many dimensions"});
  write_bytes(folder / "rgb.nii", nifti_header({2, 2, 2}, 128, 24) + data);
  expect_refused(folder / "rgb.nii", {"RGB"});
  write_bytes(folder / "complex.nii", nifti_header({2, 2, 2}, 32, 64) + data);
  expect_refused(folder / "complex.nii", {"complex"});
  write_bytes(folder / "odd.nii", nifti_header({2, 2, 2}, 1536, 128) + data);
  expect_refused(folder / "odd.nii", {"data type 1536"});
}

TEST(BadImage, VoxelsAndPlacesThatAreNone) {
  const TemporaryFolder folder;
  const auto refused = [&](std::size_t offset, float value, std::int16_t qform_code,
                           const std::string& words) {
    std::string bytes = nifti_header({4, 4, 4}, 2, 8);
    put_at<std::int16_t>(bytes, 252, qform_code);
    put_at<float>(bytes, offset, value);
    write_bytes(folder / "x.nii", bytes + std::string(64, 'a'));
    expect_refused(folder / "x.nii", {words});
  };
  for (const float none : {0.0f, -2.0f}) refused(84, none, 0, "(pixdim) that is not positive");
  refused(84, NAN, 0, "voxel size that is not finite");
  refused(260, NAN, 1, "qform that is not finite");
  refused(272, INFINITY, 2, "qform that is not finite");
}

TEST(BadImage, NotOneVolumeInMetaImageAndNrrd) {
  const TemporaryFolder folder;
  const std::string meta =
      "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\n";
  write_bytes(
      folder / "vector.mha",
      meta + "ElementNumberOfChannels = 3\nElementDataFile = LOCAL\nabcdefghabcdefghabcdefgh");
  expect_refused(folder / "vector.mha", {"voxels"});
  write_bytes(folder / "list.mhd", meta + "ElementDataFile = LIST\na.raw\nb.raw\n");
  expect_refused(folder / "list.mhd", {"spread over several files"});
  write_bytes(folder / "text.mha",
              meta + "BinaryData = False\nElementDataFile = LOCAL\n1 2 3 4 5 6 7 8\n");
  expect_refused(folder / "text.mha", {"voxels are text"});
  write_bytes(folder / "flat.mha",
              "ObjectType = Image\nNDims = 2\nDimSize = 2 4\nElementType = "
              "MET_UCHAR\nElementDataFile = LOCAL\nabcdefgh");
  expect_refused(folder / "flat.mha", {"2 dimensions"});
  write_bytes(folder / "lost.mhd", meta + "ElementDataFile = nowhere.raw\n");
  expect_io_error([&] { read_image(folder / "lost.mhd"); }, {"nowhere.raw", "no such file"});
  // MetaIO knows LOCAL, Local and local, and takes any other for a file
  write_bytes(folder / "LOcal.mha", meta + "ElementDataFile = LOcal\nabcdefgh");
  expect_io_error([&] { read_image(folder / "LOcal.mha"); }, {"LOcal", "no such file"});
  for (const std::string data : {"LOCAL\nabcdefgh", "Local\nabcdefgh", "local\nabcdefgh"}) {
    std::string here = meta;
    here.append("ElementDataFile = ").append(data);
    write_bytes(folder / "here.mha", here);
    EXPECT_EQ(read_image(folder / "here.mha").voxels.at(1), float('b')) << data;
  }
  write_bytes(folder / "flat.nrrd",
              "NRRD0004\ntype: uchar\ndimension: 2\nsizes: 2 4\nencoding: raw\n\nabcdefgh");
  expect_refused(folder / "flat.nrrd", {"2 dimensions"});
  write_bytes(
      folder / "text.nrrd",
      "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: ascii\n\n1 2 3 4 5 6 7 8\n");
  expect_refused(folder / "text.nrrd", {"encoding 'ascii'"});
}

TEST(BadImage, MetaImageFieldsThatMetaIOHasNoRoomFor) {
  const TemporaryFolder folder;
  const std::string meta =
      "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\n";
  const std::string data = "ElementDataFile = LOCAL\nabcdefgh";
  write_bytes(folder / "longest.mha", meta + std::string(254, 'n') + " = 1\n" + data);
  expect_refused(folder / "longest.mha", {"no field's name"});  // with the blank: 255
  write_bytes(folder / "long.mha", meta + std::string(253, 'n') + " = 1\n" + data);
  EXPECT_EQ(read_image(folder / "long.mha").voxels.at(1), float('b'));
  write_bytes(folder / "comment.mha", "Comment = " + std::string(255, 'c') + "\n" + meta + data);
  expect_refused(folder / "comment.mha", {"Comment has 255 characters", "takes 254"});
  write_bytes(folder / "comment.mha", "Comment = " + std::string(254, 'c') + "\n" + meta + data);
  EXPECT_EQ(read_image(folder / "comment.mha").voxels.at(1), float('b'));
  write_bytes(folder / "comment.mha", "Comment = " + std::string(255, '\v') + "\n" + meta + data);
  expect_refused(folder / "comment.mha", {"Comment has 255 characters"});
  write_bytes(folder / "twice.mha", "NDims = 300\n" + meta + data);
  expect_refused(folder / "twice.mha", {"NDims stands there twice"});
  write_bytes(folder / "control.mha",
              meta + "ElementDataFile\v = LOCAL\n" + std::string(300, 'n') + " = 1\n" + data);
  expect_refused(folder / "control.mha", {"no field's name"});
  write_bytes(folder / "control.mha", meta + "ElementDataFile = \r\rLOCAL\nabcdefgh");
  expect_refused(folder / "control.mha", {"the file of its voxels is '??LOCAL'"});
  write_bytes(folder / "crlf.mha", "Comment = as on Windows\r\n" + meta + data);
  EXPECT_EQ(read_image(folder / "crlf.mha").voxels.at(1), float('b'));
}

TEST(BadImage, NoImageAtAll) {
  const TemporaryFolder folder;
  expect_refused(folder / "missing.nii.gz", {"no such file"});
  std::filesystem::create_directory(folder / "folder.nii");
  expect_refused(folder / "folder.nii", {"folder, not a file"});
  for (const std::string name : {"empty.nii", "empty.nii.gz", "empty.mha", "empty.nrrd"}) {
    write_bytes(folder / name, "");
    expect_refused(folder / name, {"the file is empty"});
  }
  write_bytes(folder / "image.dcm", "x");
  expect_refused(folder / "image.dcm", {"no known format; use .nii"});
  const std::string text = "This is a text file that somebody has given the wrong name.\n";
  std::string long_text;
  while (long_text.size() < 1000) long_text += text;
  for (const std::string& content : {text, long_text}) {
    for (const std::string name : {"text.nii", "text.nii.gz"}) {
      write_bytes(folder / name, content);
      expect_refused(folder / name, {"not a NIfTI file"});
    }
    write_bytes(folder / "text.mha", content);
    expect_refused(folder / "text.mha", {"not a MetaImage"});
    write_bytes(folder / "text.nrrd", content);
    expect_refused(folder / "text.nrrd", {"not an NRRD file"});
  }
  std::string second(600, '\0');
  put_at<std::int32_t>(second, 0, 540);
  std::memcpy(second.data() + 4, "n+2", 4);
  write_bytes(folder / "second.nii", second);
  expect_refused(folder / "second.nii", {"declares 0 dimensions"});
}

TEST(BadImage, NothingFinite) {
  const TemporaryFolder folder;
  const std::vector<float> voxels(8, std::numeric_limits<float>::quiet_NaN());
  for (const std::string name : {"nan.nii.gz", "nan.mha"}) {
    write_image(folder / name, oblique_grid({2, 2, 2}), voxels);
    expect_refused(folder / name, {"none of its voxels is finite"});
  }
}

}  // namespace
}  // namespace freeflow::test
