// Private to io: the bytes of a file in their order, inflated by ISA-L where the file is gzip.
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace freeflow {

class ByteSource {
 public:
  /// `named` is the file's name in sentences. Throws IoError when `path` cannot be opened.
  ByteSource(std::string named, const std::string& path);

  /// Whether the file is gzip (of one member or several).
  bool compressed() const { return compressed_; }

  /// Fewer bytes than asked for mean that the file, or what was compressed, ends there. Throws
  /// IoError for damaged compressed data.
  std::size_t read(void* target, std::size_t bytes);
  void skip(std::uint64_t bytes);

  /// False when the compressed stream stops before its end; throws IoError when its checksum is
  /// wrong.
  bool read_to_end();

 private:
  bool fill();
  bool next_member();
  std::size_t inflate(unsigned char* target, std::size_t bytes);

  std::string named_;
  std::ifstream file_;
  bool compressed_ = false;
  std::vector<unsigned char> input_;
  inflate_state state_;
};

}  // namespace freeflow
