#include <freeflow/io/deflate.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include <freeflow/io/compression.h>

namespace freeflow::test {
namespace {

using Bytes = std::vector<unsigned char>;

/// Every piece's beginning comes again later, so that what a compressor remembers of it shows.
std::vector<Bytes> repetitive_pieces(std::size_t count) {
  std::mt19937 random(1);
  std::vector<Bytes> pieces(count, Bytes(64));
  for (Bytes& piece : pieces) {
    for (unsigned char& byte : piece) byte = (unsigned char)random();
    std::copy_n(piece.begin(), 24, piece.begin() + 32);
  }
  return pieces;
}

std::vector<Bytes> deflated(const std::vector<Bytes>& pieces) {
  std::vector<Bytes> out(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    deflate(pieces[i].data(), pieces[i].size(), Compression::all_deflated, out[i]);
  return out;
}

// ISA-L has a hash of 13 bits of the stream's address meet one of each piece's beginning: of this
// many pieces several would be found out.
TEST(Deflate, WritesTheSameBytesWhereverTheStackLies) {
  const std::vector<Bytes> pieces = repetitive_pieces(40000);
  const std::vector<Bytes> here = deflated(pieces);
  std::vector<Bytes> there;
  std::thread([&] { there = deflated(pieces); }).join();
  std::size_t differing = 0, smaller = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    differing += here[i] != there[i];
    smaller += here[i].size() < pieces[i].size();
  }
  EXPECT_EQ(differing, 0u);
  EXPECT_GT(smaller, pieces.size() / 2) << "nothing to compare: the pieces were stored";
}

}  // namespace
}  // namespace freeflow::test
