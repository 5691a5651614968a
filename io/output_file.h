// Private to io: a file that appears when it is whole.
#pragma once

#include <cstddef>
#include <string>

namespace freeflow {

class OutputFile {
 public:
  /// Writes under a temporary name beside `path` until close(). Throws IoError.
  explicit OutputFile(const std::string& path);
  /// Without close(): removes what was written.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;

  /// The next bytes. They are on their way to the disk while the next are made, so that who waits
  /// for the disk at the end waits for the last of them. Throws IoError when the disk is full.
  void write(const void* bytes, std::size_t count);
  void close();

 private:
  std::string path_, temporary_;
  int file_ = -1;
  std::size_t written_ = 0, on_their_way_ = 0;
};

}  // namespace freeflow
