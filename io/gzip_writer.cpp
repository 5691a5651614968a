#include <freeflow/io/gzip_writer.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <freeflow/core/error.h>
#include <freeflow/core/parallel_errors.h>

namespace freeflow {

namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t sample_bytes = 1 << 16;
constexpr std::size_t most_stored_bytes = 65535;  // of one stored block

/// Appends the bytes as blocks that are not compressed.
void store(const unsigned char* bytes, std::size_t count, std::vector<unsigned char>& out) {
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

/// Before there is a file.
int checked(int level) {
  require(level >= Compression::fastest && level <= Compression::smallest,
          "Compression::level must lie between 1 and 9");
  return level;
}

}  // namespace

GzipWriter::GzipWriter(const std::string& path, const Compression& compression)
    : threads_(compression.threads > 0 ? compression.threads : omp_get_max_threads()),
      level_(checked(compression.level)), out_(path), chunks_(4 * std::size_t(threads_)) {
  out_.write("\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10);  // deflate, no name, no time, fastest, Unix
}

std::size_t GzipWriter::batch_bytes() const { return chunks_.size() * chunk_bytes; }

void GzipWriter::in_parallel(std::size_t count, const ChunkMaker& of_chunk) const {
  ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
  for (std::size_t begin = 0; begin < count; begin += chunk_bytes)
    errors.run([&] { of_chunk(begin, std::min(chunk_bytes, count - begin)); });
  errors.rethrow();
}

void GzipWriter::deflate(const unsigned char* bytes, std::size_t count, const ChunkMaker& make) {
  const std::size_t chunks = (count + chunk_bytes - 1) / chunk_bytes;
  std::vector<std::uint32_t> crc(chunks);
  in_parallel(count, [&](std::size_t begin, std::size_t n) {
    const std::size_t i = begin / chunk_bytes;
    if (make) make(begin, n);
    deflate_chunk(bytes + begin, n, level_, chunks_[i]);
    crc[i] = crc32_gzip_refl(0, bytes + begin, n);
  });
  for (std::size_t i = 0; i < chunks; ++i) {
    out_.write(chunks_[i].data(), chunks_[i].size());
    const std::size_t n = std::min(chunk_bytes, count - i * chunk_bytes);
    crc_ = std::uint32_t(crc32_combine(crc_, crc[i], z_off_t(n)));
  }
  total_ += count;
}

void GzipWriter::write(const void* data, std::size_t count) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  // Chunks begin at multiples of their size, so that the bytes do not tell how they came.
  if (filled_ > 0 || count < batch_bytes()) {
    const std::size_t part = std::min(count, batch_bytes() - filled_);
    write_made(part, [&](std::size_t offset, std::size_t n, unsigned char* target) {
      std::memcpy(target, bytes + offset, n);
    });
    bytes += part;
    count -= part;
  }
  for (; count >= batch_bytes(); bytes += batch_bytes(), count -= batch_bytes())
    deflate(bytes, batch_bytes());
  if (count > 0) write(bytes, count);
}

void GzipWriter::write_made(std::size_t count, const ByteMaker& make) {
  if (!pending_) pending_ = std::make_unique_for_overwrite<unsigned char[]>(batch_bytes());
  for (std::size_t made = 0; made < count;) {
    const std::size_t from = filled_, part = std::min(count - made, batch_bytes() - from);
    const auto fill = [&](std::size_t begin, std::size_t n) {
      const std::size_t first = std::max(begin, from), end = std::min(begin + n, from + part);
      if (first < end) make(made + first - from, end - first, pending_.get() + first);
    };
    if (from + part == batch_bytes()) {
      deflate(pending_.get(), batch_bytes(), fill);
      filled_ = 0;
    } else {
      in_parallel(from + part, fill);  // deflated with what comes, or by close()
      filled_ = from + part;
    }
    made += part;
  }
}

void GzipWriter::close() {
  if (filled_ > 0) deflate(pending_.get(), filled_);
  std::string end = {'\x03', '\0'};  // a last block of nothing
  for (const std::uint32_t value : {crc_, std::uint32_t(total_)})
    for (int shift = 0; shift < 32; shift += 8) end += char(value >> shift & 255);
  out_.write(end.data(), end.size());
  out_.close();
}

}  // namespace freeflow
