// Private to io: a file of one ordinary gzip member, deflated in chunks on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freeflow/io/compression.h>
#include <freeflow/io/output_file.h>

namespace freeflow {

/// Puts `count` of the bytes to be written, from `offset` on, to `target`. Several threads call it;
/// both numbers are multiples of four where the whole is.
using ByteMaker = std::function<void(std::size_t offset, std::size_t count, unsigned char* target)>;

class GzipWriter {
 public:
  /// The file appears at close() (output_file.h). Throws InvalidArgument for an unknown level,
  /// IoError.
  explicit GzipWriter(const std::string& path, const Compression& compression = {});
  GzipWriter& operator=(const GzipWriter&) = delete;

  /// The next bytes. Throws IoError when the disk is full.
  void write(const void* bytes, std::size_t count);
  /// The same of bytes that are made only now, a chunk at a time beside the deflating.
  void write_made(std::size_t count, const ByteMaker& make);
  void close();

 private:
  using ChunkMaker = std::function<void(std::size_t begin, std::size_t count)>;
  /// A batch or the last of it, whose chunks `make` puts there first, where it is given.
  void deflate(const unsigned char* bytes, std::size_t count, const ChunkMaker& make = {});
  /// Of chunks of `count` bytes.
  void in_parallel(std::size_t count, const ChunkMaker& of_chunk) const;
  std::size_t batch_bytes() const;

  int threads_, level_;
  OutputFile out_;
  std::unique_ptr<unsigned char[]> pending_;        // a batch, or none
  std::size_t filled_ = 0;                          // less than all of it
  std::vector<std::vector<unsigned char>> chunks_;  // of the batch, deflated
  std::uint32_t crc_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace freeflow
