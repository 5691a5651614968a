#include <freeflow/io/gzip_writer.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <freeflow/core/error.h>

namespace freeflow {

namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t sample_bytes = 1 << 16;
constexpr std::size_t most_stored_bytes = 65535;  // of one stored block

/// Appends the bytes as blocks that are not compressed.
void store(const unsigned char* bytes, std::size_t count, std::vector<unsigned char>& out) {
  out.reserve(out.size() + count + 5 * (count / most_stored_bytes + 1));
  while (count > 0) {
    const std::size_t n = std::min(count, most_stored_bytes);
    const unsigned char head[] = {0, (unsigned char)(n & 255), (unsigned char)(n >> 8),
                                  (unsigned char)(~n & 255), (unsigned char)(~n >> 8 & 255)};
    out.insert(out.end(), head, head + sizeof head);
    out.insert(out.end(), bytes, bytes + n);
    bytes += n;
    count -= n;
  }
}

/// Deflates the bytes into blocks that end on a byte boundary and leave the stream open. False
/// where they do not fit into `room` bytes. Level 1 writes the same on every CPU with AVX2.
bool deflate_fast(const unsigned char* bytes, std::size_t count, std::size_t room,
                  std::vector<unsigned char>& out) {
  out.resize(room);
  std::vector<unsigned char> work(ISAL_DEF_LVL1_DEFAULT);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = 1;
  stream.level_buf = work.data();
  stream.level_buf_size = std::uint32_t(work.size());
  stream.flush = SYNC_FLUSH;
  stream.next_in = const_cast<unsigned char*>(bytes);
  stream.avail_in = std::uint32_t(count);
  stream.next_out = out.data();
  stream.avail_out = std::uint32_t(room);
  const int status = isal_deflate(&stream);
  out.resize(stream.total_out);
  return status == COMP_OK && stream.avail_in == 0 && stream.avail_out > 0;
}

/// The same by zlib, which takes longer and makes less of it.
bool deflate_small(const unsigned char* bytes, std::size_t count, std::size_t room, int level,
                   std::vector<unsigned char>& out) {
  constexpr int raw_deflate = -15, most_memory = 9;
  out.resize(room);
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, raw_deflate, most_memory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::bad_alloc();
  stream.next_in = const_cast<unsigned char*>(bytes);
  stream.avail_in = uInt(count);
  stream.next_out = out.data();
  stream.avail_out = uInt(room);
  const int status = deflate(&stream, Z_SYNC_FLUSH);
  const bool fits = status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return fits;
}

/// Smooth fields of floats hardly shrink (to 0.92) but take their readers 0.3 s for 83 MB: what
/// does not lose an eighth is stored. The chunk's beginning tells before all of it is tried.
bool worth_deflating(const unsigned char* bytes, std::size_t count,
                     std::vector<unsigned char>& out) {
  const auto worth = [](std::size_t n) { return n - n / 8; };
  const std::size_t sample = std::min(count, sample_bytes);
  return deflate_fast(bytes, sample, worth(sample), out) &&
         deflate_fast(bytes, count, worth(count), out);
}

void deflate_chunk(const unsigned char* bytes, std::size_t count, int level,
                   std::vector<unsigned char>& out) {
  const bool deflated = level < Compression::all_deflated ? worth_deflating(bytes, count, out)
                        : level < Compression::by_zlib
                            ? deflate_fast(bytes, count, count, out)
                            : deflate_small(bytes, count, count, level, out);
  if (deflated) return;
  out.clear();
  store(bytes, count, out);
}

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
  deflate_chunk(bytes, count, level_, chunk.deflated);
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
