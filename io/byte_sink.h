// Private to io: the bytes of a file in their order, deflated where its name says so.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <freeflow/io/compression.h>
#include <freeflow/io/gzip_writer.h>
#include <freeflow/io/output_file.h>
#include <freeflow/io/piecewise.h>

namespace freeflow {

class ByteSink {
 public:
  /// The file appears at close(). Throws IoError.
  ByteSink(const std::string& path, bool compressed, const Compression& compression);

  /// The next bytes. Throws IoError when the disk is full.
  void write(const void* bytes, std::size_t count);
  /// The same of bytes that are made only now, by several threads.
  void write_made(std::size_t count, const ByteMaker& make);
  void close();

 private:
  std::unique_ptr<GzipWriter> compressed_;
  std::unique_ptr<OutputFile> plain_;
  int threads_;
};

}  // namespace freeflow
