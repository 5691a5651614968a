#include <freeflow/io/output_set.h>

#include <freeflow/io/picture_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

namespace fs = std::filesystem;

TEST(OutputSet, CommitMovesEverythingAndReplacesOlderFiles) {
  const TemporaryFolder folder;
  write_bytes(folder / "s01_report.json", "old");
  OutputSet outputs(folder / "s01_");
  const std::string warp = outputs.file("1Warp.nii.gz");
  EXPECT_TRUE(warp.ends_with("/s01_1Warp.nii.gz"));
  write_bytes(warp, "warp");
  write_bytes(outputs.file("report.json"), "new");
  EXPECT_FALSE(fs::exists(folder / "s01_1Warp.nii.gz"));
  EXPECT_EQ(read_bytes(folder / "s01_report.json"), "old");
  outputs.commit();
  EXPECT_EQ(read_bytes(folder / "s01_1Warp.nii.gz"), "warp");
  EXPECT_EQ(read_bytes(folder / "s01_report.json"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
  EXPECT_THROW(outputs.commit(), InvalidArgument);
}

TEST(OutputSet, WithoutCommitNothingStays) {
  const TemporaryFolder folder;
  {
    const OutputSet outputs(folder / "deep/er/s01_");
    EXPECT_TRUE(fs::is_directory(folder / "deep/er"));
    write_bytes(outputs.file("1Warp.nii.gz"), "warp");
  }
  EXPECT_TRUE(folder.empty());
  {
    fs::create_directory(folder / "mine");
    const OutputSet outputs(folder / "mine/");
    EXPECT_TRUE(outputs.file("report.json").ends_with("/report.json"));
  }
  EXPECT_TRUE(fs::is_empty(folder / "mine")) << "a folder that was there stays";
}

TEST(OutputSet, CommitThatFailsLeavesNothing) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "s01_b/full");
  {
    OutputSet outputs(folder / "s01_");
    write_bytes(outputs.file("a"), "1");
    write_bytes(outputs.file("b"), "2");
    expect_io_error([&] { outputs.commit(); }, {"cannot write", "s01_b"});
  }
  EXPECT_FALSE(fs::exists(folder / "s01_a"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(OutputSet, FolderThatCannotBeUsed) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "x");
  expect_io_error([&] { OutputSet(folder / "file/s01_"); }, {"file'"});
  expect_io_error([&] { OutputSet(folder / "file/deeper/s01_"); }, {"cannot make the folder"});
  // Not even root writes into /proc.
  expect_io_error([&] { OutputSet("/proc/s01_"); }, {"cannot write into the folder '/proc'"});
  expect_io_error([&] { OutputSet("/proc/new/s01_"); }, {"cannot make the folder '/proc/new'"});
}

TEST(PictureFile, WritesAPngOfItsSize) {
  const TemporaryFolder folder;
  write_png(folder / "p.png", 3, 2, std::vector<unsigned char>(18, 200));
  const std::string bytes = read_bytes(folder / "p.png");
  EXPECT_EQ(bytes.substr(1, 3), "PNG");
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\0\3\0\0\0\2", 8));
  EXPECT_THROW(write_png(folder / "q.png", 3, 3, std::vector<unsigned char>(18)), InvalidArgument);
  expect_io_error(
      [&] { write_png(folder / "missing/p.png", 3, 2, std::vector<unsigned char>(18)); },
      {"cannot write", "missing/p.png"});
  expect_io_error([&] { write_png(folder / "p.jpg", 3, 2, std::vector<unsigned char>(18)); },
                  {"cannot write", ".png"});
}

}  // namespace
}  // namespace freeflow::test
