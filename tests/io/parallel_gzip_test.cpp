#include <freeflow/io/parallel_gzip.h>

#include <zlib.h>

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

TEST(ParallelGzip, AnySizeRoundTripsWithTheSameBytesForAnyNumberOfThreads) {
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

TEST(ParallelGzip, ErrorsLeaveNothingBehind) {
  const TemporaryFolder folder;
  expect_io_error([&] { gzip_file(folder / "missing", folder / "x.gz"); },
                  {"cannot read", "missing"});
  write_bytes(folder / "source", "abc");
  expect_io_error([&] { gzip_file(folder / "source", folder / "nowhere/x.gz"); },
                  {"cannot write", "nowhere/x.gz"});
  std::filesystem::create_directories(folder / "taken/inside");
  expect_io_error([&] { gzip_file(folder / "source", folder / "taken"); },
                  {"cannot write", "taken"});
  EXPECT_FALSE(std::filesystem::exists(folder / "taken.tmp"));
}

}  // namespace
}  // namespace freeflow::test
