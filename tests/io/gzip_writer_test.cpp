#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <optional>

#include <freeflow/io/byte_source.h>
#include <freeflow/io/output_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

/// Decompresses with zlib and checks that it is one member that ends where the file does.
std::string gunzip(const std::string& compressed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = unsigned(compressed.size());
  std::string out, block(1 << 20, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = unsigned(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(block, 0, block.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  inflateEnd(&stream);
  return out;
}

std::string sample(std::size_t bytes) {
  std::string text = bytes_of_values(random_values(bytes / 4 + 1, 0, 1));
  text.resize(bytes);
  for (std::size_t i = 0; i < bytes / 3; ++i) text[i] = 'a';  // a part that shrinks well
  return text;
}

TEST(GzipWriter, AnySizeRoundTripsWithTheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  constexpr std::size_t mib = 1 << 20;
  for (const std::size_t bytes :
       {std::size_t(0), std::size_t(1), mib - 1, mib, mib + 1, 4 * mib, 9 * mib + 13}) {
    write_bytes(folder / "source", sample(bytes));
    std::string first;
    for (const int threads : {1, 2, 3, 7}) {
      gzip_file(folder / "source", folder / "target.gz", threads);
      const std::string compressed = read_bytes(folder / "target.gz");
      if (threads == 1) first = compressed;
      EXPECT_EQ(compressed, first) << bytes << " bytes, " << threads << " threads";
    }
    EXPECT_EQ(gunzip(first), sample(bytes)) << bytes;
  }
}

TEST(GzipWriter, TheBytesDoNotTellInWhichPiecesTheyCame) {
  const TemporaryFolder folder;
  const std::string bytes = sample((9 << 20) + 5);
  write_bytes(folder / "source", bytes);
  gzip_file(folder / "source", folder / "whole.gz", 2);
  GzipWriter pieces(folder / "pieces.gz", 2);
  for (std::size_t i = 0; i < bytes.size(); i += 777777)
    pieces.write(bytes.data() + i, std::min<std::size_t>(777777, bytes.size() - i));
  pieces.close();
  EXPECT_EQ(read_bytes(folder / "pieces.gz"), read_bytes(folder / "whole.gz"));
}

TEST(GzipWriter, WhatHardlyShrinksIsStored) {
  const TemporaryFolder folder;
  const std::string noise = bytes_of_values(random_values(1 << 20, 0, 1));
  write_bytes(folder / "noise", noise);
  gzip_file(folder / "noise", folder / "noise.gz");
  const std::string compressed = read_bytes(folder / "noise.gz");
  EXPECT_EQ(gunzip(compressed), noise);
  EXPECT_GT(compressed.size(), noise.size());
  EXPECT_LT(compressed.size(), noise.size() + noise.size() / 1000);
  write_bytes(folder / "flat", std::string(1 << 22, 'x'));
  gzip_file(folder / "flat", folder / "flat.gz");
  EXPECT_LT(std::filesystem::file_size(folder / "flat.gz"), 1u << 16);
}

TEST(GzipWriter, BytesThatAreMadeOnTheWayAreTheSame) {
  const TemporaryFolder folder;
  const std::string bytes = sample((9 << 20) + 8);
  write_bytes(folder / "source", bytes);
  gzip_file(folder / "source", folder / "whole.gz", 2);
  for (const int threads : {1, 3}) {
    GzipWriter made(folder / "made.gz", threads);
    std::size_t done = 352;  // as after a header
    made.write(bytes.data(), done);
    for (const std::size_t count : {std::size_t(5 << 20), bytes.size() - 352 - (5 << 20)}) {
      made.write_made(count, [&](std::size_t offset, std::size_t n, unsigned char* target) {
        EXPECT_EQ(offset % 4 + n % 4, 0u);
        std::memcpy(target, bytes.data() + done + offset, n);
      });
      done += count;
    }
    made.close();
    EXPECT_EQ(read_bytes(folder / "made.gz"), read_bytes(folder / "whole.gz")) << threads;
  }
}

TEST(GzipWriter, EveryLevelRoundTripsAndHigherOnesAreSmaller) {
  const TemporaryFolder folder;
  std::vector<float> smooth((1 << 20) / 4 + 3);  // shrinks by less than an eighth
  for (std::size_t i = 0; i < smooth.size(); ++i) smooth[i] = 3 + std::sin(float(i) * 1e-3f);
  const std::string bytes = bytes_of_values(smooth);
  std::size_t before = 2 * bytes.size();
  for (const int level : {1, 2, 5, 6, 9}) {
    GzipWriter writer(folder / "target.gz", {2, level});
    writer.write(bytes.data(), bytes.size());
    writer.close();
    const std::string compressed = read_bytes(folder / "target.gz");
    EXPECT_EQ(gunzip(compressed), bytes) << level;
    EXPECT_LE(compressed.size(), before) << level;
    before = compressed.size();
  }
  EXPECT_LT(before, bytes.size());
  EXPECT_THROW(GzipWriter(folder / "target.gz", {1, 10}), InvalidArgument);
  EXPECT_THROW(GzipWriter(folder / "target.gz", {1, 0}), InvalidArgument);
}

TEST(ByteSource, ReadsWhatZlibWroteInSeveralMembersAndSeesDamage) {
  const TemporaryFolder folder;
  const std::string first = sample(3 << 20), second = sample(100001);
  const auto zlib_member = [&](const std::string& bytes) {
    const gzFile file = gzopen((folder / "z.gz").c_str(), "wb6");
    gzwrite(file, bytes.data(), unsigned(bytes.size()));
    gzclose(file);
    return read_bytes(folder / "z.gz");
  };
  const std::string compressed = zlib_member(first) + zlib_member(second);
  write_bytes(folder / "two.gz", compressed);
  const std::string both = first + second;
  std::string read(both.size() + 10, '\0');
  ByteSource source("two.gz", folder / "two.gz");
  EXPECT_TRUE(source.compressed());
  source.skip(1234567);
  EXPECT_EQ(source.read(read.data(), read.size()), both.size() - 1234567);
  EXPECT_EQ(read.compare(0, both.size() - 1234567, both, 1234567), 0);
  EXPECT_TRUE(source.read_to_end());
  write_bytes(folder / "cut.gz", compressed.substr(0, compressed.size() - 3));
  ByteSource cut("cut.gz", folder / "cut.gz");
  EXPECT_EQ(cut.read(read.data(), read.size()), both.size());
  EXPECT_FALSE(cut.read_to_end());
  std::string damaged = compressed;
  damaged[compressed.size() - 6] ^= 1;
  write_bytes(folder / "damaged.gz", damaged);
  ByteSource wrong("damaged.gz", folder / "damaged.gz");
  expect_io_error([&] { wrong.read(read.data(), read.size()); }, {"damaged.gz", "damaged"});
  write_bytes(folder / "plain", both);
  ByteSource plain("plain", folder / "plain");
  plain.skip(5);
  EXPECT_FALSE(plain.compressed());
  EXPECT_EQ(plain.read(read.data(), read.size()), both.size() - 5);
}

TEST(GzipWriter, ErrorsLeaveNothingBehind) {
  const TemporaryFolder folder;
  write_bytes(folder / "source", "abc");
  expect_io_error([&] { gzip_file(folder / "source", folder / "nowhere/x.gz"); },
                  {"cannot write", "nowhere/x.gz"});
  std::filesystem::create_directories(folder / "taken/inside");
  expect_io_error([&] { gzip_file(folder / "source", folder / "taken"); },
                  {"cannot write", "taken"});
  EXPECT_FALSE(std::filesystem::exists(folder / "taken.tmp"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Takes all memory that this process can get.
void use_up_memory() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_AS, &none);
  for (std::size_t bytes = std::size_t(1) << 24; bytes >= 16; bytes /= 2)
    while (void* taken = malloc(bytes)) static_cast<volatile char*>(taken)[0] = 0;
}

// As where a thread has no memory left to deflate with: its file goes as the exception passes.
TEST(GzipWriter, AnUnfinishedFileIsRemovedWithoutMemory) {
  const TemporaryFolder folder;
  std::string path = folder / "";
  for (int i = 0; i < 50; ++i) path += "./";
  path += "unfinished";
  const std::string left = path + ".tmp";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::optional<OutputFile> file(path);
    file->write("abc", 3);
    use_up_memory();
    file.reset();
    _exit(access(left.c_str(), F_OK) == 0 ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "it is still there";
}
#endif

}  // namespace
}  // namespace freeflow::test
