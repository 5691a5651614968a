#include <freeflow/io/byte_sink.h>

#include <omp.h>

#include <algorithm>

namespace freeflow {

ByteSink::ByteSink(const std::string& path, bool compressed, const Compression& compression)
    : threads_(std::min(compression.threads > 0 ? compression.threads : omp_get_max_threads(),
                        writing_threads)) {
  if (compressed)
    compressed_ = std::make_unique<GzipWriter>(path, compression);
  else
    plain_ = std::make_unique<OutputFile>(path);
}

void ByteSink::write(const void* bytes, std::size_t count) {
  if (compressed_)
    compressed_->write(bytes, count);
  else
    plain_->write(bytes, count);
}

void ByteSink::write_made(std::size_t count, const ByteMaker& make) {
  if (compressed_) return compressed_->write_made(count, make);
  constexpr std::size_t piece = 1 << 20;
  const std::size_t pieces = (count + piece - 1) / piece;
  const std::size_t threads = std::clamp<std::size_t>(pieces, 1, std::size_t(threads_));
  const auto made = std::make_unique_for_overwrite<unsigned char[]>(threads * piece);
  const auto size = [&](std::size_t i) { return std::min(piece, count - i * piece); };
  in_order(
      pieces, int(threads),
      [&](std::size_t i, std::size_t thread) {
        make(i * piece, size(i), made.get() + thread * piece);
      },
      [&](std::size_t i, std::size_t thread) { write(made.get() + thread * piece, size(i)); });
}

void ByteSink::close() {
  if (compressed_)
    compressed_->close();
  else
    plain_->close();
}

}  // namespace freeflow
