#include <freeflow/io/output_set.h>

#include <freeflow/io/picture_file.h>
#include <zlib.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

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

TEST(OutputSet, CommitThatFailsKeepsWhatStoodThere) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "s01_c/full");
  write_bytes(folder / "s01_b", "old");
  {
    OutputSet outputs(folder / "s01_");
    for (const char* name : {"a", "b", "c"}) write_bytes(outputs.file(name), "new");
    expect_io_error([&] { outputs.commit(); }, {"cannot write", "s01_c", "folder"});
  }
  EXPECT_FALSE(fs::exists(folder / "s01_a"));
  EXPECT_EQ(read_bytes(folder / "s01_b"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

TEST(OutputSet, WhatIsPlacedAndNotKeptIsUndone) {
  const TemporaryFolder folder;
  write_bytes(folder / "s01_b", "old");
  {
    OutputSet outputs(folder / "s01_");
    for (const char* name : {"a", "b"}) write_bytes(outputs.file(name), "new");
    outputs.place();
    EXPECT_EQ(read_bytes(folder / "s01_a"), "new");
    EXPECT_EQ(read_bytes(folder / "s01_b"), "new");
  }
  EXPECT_EQ(read_bytes(folder / "s01_b"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(OutputSet, ReplacesNoDevice) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder / "s01_a");
  OutputSet outputs(folder / "s01_");
  write_bytes(outputs.file("a"), "new");
  expect_io_error([&] { outputs.commit(); }, {"s01_a", "no regular file"});
  EXPECT_TRUE(fs::is_symlink(folder / "s01_a"));
}

/// The hidden folder of a killed run, which nobody has locked.
fs::path abandoned(const TemporaryFolder& folder, const std::string& prefix) {
  fs::path staging = folder / (".freeflow-" + prefix + "-abc123");
  fs::create_directories(staging / "new");
  write_bytes(staging / "lock", "");
  return staging;
}

TEST(OutputSet, TheNextRunRemovesWhatAKilledOneLeft) {
  const TemporaryFolder folder;
  const fs::path mine = abandoned(folder, "s01_"), other = abandoned(folder, "s02_"),
                 unlocked = folder / ".freeflow-s01_-xyz789";
  fs::create_directory(unlocked);  // killed before it had a lock
  write_bytes(mine / "new" / "s01_a", "half");
  const OutputSet running(folder / "s01_");
  write_bytes(running.file("a"), "at work");
  OutputSet outputs(folder / "s01_");
  EXPECT_FALSE(fs::exists(mine));
  EXPECT_FALSE(fs::exists(unlocked));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_EQ(read_bytes(running.file("a")), "at work");
  EXPECT_FALSE(fs::exists(folder / "s01_a"));
}

TEST(OutputSet, FoldersThatOnlyLookLikeThoseOfARunStay) {
  const TemporaryFolder folder;
  for (const char* name : {".freeflow-s01_abcdefg", ".freeflow-s01_-abcdefg", ".freeflow-s01_"})
    fs::create_directory(folder / name);
  { const OutputSet outputs(folder / "s01_"); }
  for (const char* name : {".freeflow-s01_abcdefg", ".freeflow-s01_-abcdefg", ".freeflow-s01_"})
    EXPECT_TRUE(fs::exists(folder / name)) << name;
}

TEST(OutputSet, TakesNamesAsLongAsAFilesAndFoldersByADot) {
  const TemporaryFolder folder;
  const std::string name(250, 'n');
  for (const std::string& prefix : {folder / name, folder / "sub/.", folder / "sub/deep/.."}) {
    OutputSet outputs(prefix);
    write_bytes(outputs.file("a"), "whole");
    outputs.commit();
  }
  EXPECT_EQ(read_bytes(folder / (name + "a")), "whole");
  EXPECT_EQ(read_bytes(folder / "sub/a"), "whole");
}

TEST(OutputSet, TheNextRunEndsTheMoveThatWasKilled) {
  const TemporaryFolder folder;
  const fs::path staging = abandoned(folder, "s01_");
  fs::create_directory(staging / "old");
  write_bytes(staging / "old" / "s01_a", "old");
  write_bytes(folder / "s01_a", "new");
  write_bytes(staging / "new" / "s01_b", "new");  // the next to be moved
  write_bytes(folder / "s01_b", "old");
  const OutputSet outputs(folder / "s01_");
  EXPECT_EQ(read_bytes(folder / "s01_a"), "new");
  EXPECT_EQ(read_bytes(folder / "s01_b"), "new");
  EXPECT_FALSE(fs::exists(staging));
}

TEST(OutputSet, TheNextRunEndsTheUndoingThatWasKilled) {
  const TemporaryFolder folder;
  const fs::path staging = abandoned(folder, "s01_");
  fs::create_directory(staging / "back");
  write_bytes(staging / "back" / "s01_b", "old");
  write_bytes(staging / "new" / "s01_c", "new");
  write_bytes(folder / "s01_b", "new");
  const OutputSet outputs(folder / "s01_");
  EXPECT_EQ(read_bytes(folder / "s01_b"), "old");
  EXPECT_FALSE(fs::exists(folder / "s01_c"));
}

TEST(OutputSet, RunsOfOneNameStartedTogetherKeepTheirFolders) {
  const TemporaryFolder folder;
  std::atomic<int> lost = 0;
  {
    std::vector<std::jthread> runs;
    for (int run = 0; run < 8; ++run)
      runs.emplace_back([&] {
        for (int i = 0; i < 300; ++i) {
          const OutputSet outputs(folder / "s01_");
          std::ofstream(outputs.file("a")) << "at work";
          if (!fs::exists(outputs.file("a"))) ++lost;
        }
      });
  }
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(OutputSet, NamesInSentencesAreTheFinalOnes) {
  const TemporaryFolder folder;
  const OutputSet outputs(folder / "s01_");
  EXPECT_EQ(without_staging("cannot write '" + outputs.file("a.nii") + "': why"),
            "cannot write '" + (folder / "s01_a.nii") + "': why");
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

std::vector<unsigned char> rows_of_png(const std::string& png, std::size_t expected) {
  const std::size_t data = png.find("IDAT") + 4;
  const auto* at = reinterpret_cast<const unsigned char*>(png.data());
  const uLong length = uLong(at[data - 8]) << 24 | uLong(at[data - 7]) << 16 |
                       uLong(at[data - 6]) << 8 | uLong(at[data - 5]);
  const uLong crc = uLong(at[data + length]) << 24 | uLong(at[data + length + 1]) << 16 |
                    uLong(at[data + length + 2]) << 8 | uLong(at[data + length + 3]);
  EXPECT_EQ(crc, crc32(0, at + data - 4, uInt(length + 4)));
  std::vector<unsigned char> rows(2 * expected);
  uLongf size = rows.size();
  EXPECT_EQ(uncompress(rows.data(), &size, at + data, length), Z_OK);
  rows.resize(size);
  return rows;
}

TEST(PictureFile, KeepsGreysAndPlacesInAPalette) {
  // Each row begins with its filter: 1 keeps the difference to the left, 0 the byte.
  EXPECT_EQ(rows_of_png(png_of({3, 2, {10, 12, 9, 0, 255, 1}}), 8),
            (std::vector<unsigned char>{1, 10, 2, 253, 1, 0, 255, 2}));
  const std::string coloured = png_of({2, 1, {1, 0}, {{{0, 0, 0, 0}, {{255, 128, 64, 200}}}}});
  EXPECT_EQ(rows_of_png(coloured, 3), (std::vector<unsigned char>{0, 1, 0}));
  EXPECT_NE(coloured.find(std::string("PLTE\0\0\0\xff\x80\x40", 10)), std::string::npos);
  EXPECT_NE(coloured.find(std::string("tRNS\0\xc8", 6)), std::string::npos);
  EXPECT_THROW(png_of({2, 1, {1, 2}, {{{0, 0, 0, 0}, {{255, 128, 64, 200}}}}}), InvalidArgument);
  EXPECT_THROW(png_of({2, 2, {1, 2}}), InvalidArgument);
}

}  // namespace
}  // namespace freeflow::test
