// Private to io: a file of one ordinary gzip member, deflated in chunks on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freeflow/io/compression.h>
#include <freeflow/io/output_file.h>
#include <freeflow/io/piecewise.h>

namespace freeflow {

class GzipWriter {
 public:
  /// The file appears at close() (output_file.h). Throws InvalidArgument for an unknown level,
  /// IoError.
  explicit GzipWriter(const std::string& path, const Compression& compression = {});
  GzipWriter& operator=(const GzipWriter&) = delete;

  /// The next bytes. Throws IoError when the disk is full.
  void write(const void* bytes, std::size_t count);
  /// The same of bytes that are made only now, beside the deflating.
  void write_made(std::size_t count, const ByteMaker& make);
  void close();

 private:
  struct Workspace {
    std::vector<unsigned char> bytes, deflated;
    std::uint32_t crc = 0;
  };
  void deflate(const unsigned char* bytes, std::size_t count, Workspace& chunk) const;
  /// In the order of the file.
  void append(std::size_t count, const Workspace& chunk);

  int threads_, level_;
  OutputFile out_;
  std::vector<unsigned char> pending_;  // the beginning of a chunk
  std::uint32_t crc_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace freeflow
