#include <freeflow/io/gzip_writer.h>

#include <isa-l/crc.h>
#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include <freeflow/core/error.h>
#include <freeflow/io/deflate.h>

namespace freeflow {

namespace {

constexpr std::size_t chunk_bytes = 1 << 20;

/// More threads make no more than a file takes at once, but where zlib is at work.
int useful(const Compression& compression) {
  const int threads = compression.threads > 0 ? compression.threads : omp_get_max_threads();
  return compression.level < Compression::by_zlib ? std::min(threads, writing_threads) : threads;
}

/// Before there is a file.
int checked(int level) {
  require(level >= Compression::fastest && level <= Compression::smallest,
          "Compression::level must lie between 1 and 9");
  return level;
}

}  // namespace

GzipWriter::GzipWriter(const std::string& path, const Compression& compression)
    : threads_(useful(compression)), level_(checked(compression.level)), out_(path) {
  out_.write("\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10);  // deflate, no name, no time, fastest, Unix
}

void GzipWriter::deflate(const unsigned char* bytes, std::size_t count, Workspace& chunk) const {
  freeflow::deflate(bytes, count, level_, chunk.deflated);
  chunk.crc = crc32_gzip_refl(0, bytes, count);
}

void GzipWriter::append(std::size_t count, const Workspace& chunk) {
  out_.write(chunk.deflated.data(), chunk.deflated.size());
  crc_ = std::uint32_t(crc32_combine(crc_, chunk.crc, z_off_t(count)));
  total_ += count;
}

void GzipWriter::write(const void* data, std::size_t count) {
  write_made(count, [bytes = static_cast<const unsigned char*>(data)](
                        std::size_t offset, std::size_t n, unsigned char* target) {
    std::memcpy(target, bytes + offset, n);
  });
}

// Chunks begin at multiples of their size, so that the bytes do not tell how they came.
void GzipWriter::write_made(std::size_t count, const ByteMaker& make) {
  const std::size_t before = pending_.size(), whole = (before + count) / chunk_bytes;
  if (whole > 0) {
    std::vector<Workspace> chunks(std::min(std::size_t(threads_), whole));
    in_order(
        whole, int(chunks.size()),
        [&](std::size_t i, std::size_t thread) {
          Workspace& chunk = chunks[thread];
          chunk.bytes.resize(chunk_bytes);
          if (i == 0) std::copy(pending_.begin(), pending_.end(), chunk.bytes.begin());
          const std::size_t kept = i == 0 ? before : 0;
          make(i * chunk_bytes + kept - before, chunk_bytes - kept, chunk.bytes.data() + kept);
          deflate(chunk.bytes.data(), chunk_bytes, chunk);
        },
        [&](std::size_t, std::size_t thread) { append(chunk_bytes, chunks[thread]); });
    pending_.clear();
  }
  const std::size_t kept = pending_.size(), rest = before + count - whole * chunk_bytes - kept;
  pending_.resize(kept + rest);
  if (rest > 0) make(count - rest, rest, pending_.data() + kept);
}

void GzipWriter::close() {
  if (!pending_.empty()) {
    Workspace last;
    deflate(pending_.data(), pending_.size(), last);
    append(pending_.size(), last);
  }
  std::string end = {'\x03', '\0'};  // a last block of nothing
  for (const std::uint32_t value : {crc_, std::uint32_t(total_)})
    for (int shift = 0; shift < 32; shift += 8) end += char(value >> shift & 255);
  out_.write(end.data(), end.size());
  out_.close();
}

}  // namespace freeflow
