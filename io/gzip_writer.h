// Private to io: a file of one ordinary gzip member, deflated by ISA-L in chunks on all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace freeflow {

class GzipWriter {
 public:
  /// Writes under a temporary name beside `path` until close(). `threads` 0: all that OpenMP
  /// offers; the bytes do not depend on their number. Throws IoError.
  explicit GzipWriter(const std::string& path, int threads = 0);
  /// Without close(): removes what was written.
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  /// The next bytes. Throws IoError when the disk is full.
  void write(const void* bytes, std::size_t count);
  void close();

 private:
  void deflate(const unsigned char* bytes, std::size_t count);

  std::string path_, temporary_;
  int threads_;
  std::ofstream out_;
  std::vector<unsigned char> pending_;              // less than a batch
  std::vector<std::vector<unsigned char>> chunks_;  // of the batch, deflated
  std::uint32_t crc_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace freeflow
