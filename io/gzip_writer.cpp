#include <freeflow/io/gzip_writer.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/io/write_error.h>

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
bool deflate_open(const unsigned char* bytes, std::size_t count, std::size_t room,
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

/// Smooth fields of floats hardly shrink (to 0.92) but take their readers 0.3 s for 83 MB: what
/// does not lose an eighth is stored. The chunk's beginning tells before all of it is tried.
void deflate_chunk(const unsigned char* bytes, std::size_t count, std::vector<unsigned char>& out) {
  const auto worth = [](std::size_t n) { return n - n / 8; };
  const std::size_t sample = std::min(count, sample_bytes);
  if (deflate_open(bytes, sample, worth(sample), out) &&
      deflate_open(bytes, count, worth(count), out))
    return;
  out.clear();
  store(bytes, count, out);
}

}  // namespace

GzipWriter::GzipWriter(const std::string& path, int threads)
    : path_(path), temporary_(path + ".tmp"),
      threads_(threads > 0 ? threads : omp_get_max_threads()), out_(temporary_, std::ios::binary),
      chunks_(4 * std::size_t(threads_)) {
  if (!out_) fail_writing(path_, errno);
  out_.write("\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10);  // deflate, no name, no time, fastest, Unix
}

GzipWriter::~GzipWriter() {
  if (temporary_.empty()) return;
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void GzipWriter::deflate(const unsigned char* bytes, std::size_t count) {
  const std::size_t chunks = (count + chunk_bytes - 1) / chunk_bytes;
  const auto size_of = [&](std::size_t i) {
    return std::min(chunk_bytes, count - i * chunk_bytes);
  };
  std::vector<std::uint32_t> crc(chunks);
  ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
  for (std::size_t i = 0; i < chunks; ++i)
    errors.run([&] {
      deflate_chunk(bytes + i * chunk_bytes, size_of(i), chunks_[i]);
      crc[i] = crc32_gzip_refl(0, bytes + i * chunk_bytes, size_of(i));
    });
  errors.rethrow();
  for (std::size_t i = 0; i < chunks; ++i) {
    out_.write(reinterpret_cast<const char*>(chunks_[i].data()),
               std::streamsize(chunks_[i].size()));
    crc_ = std::uint32_t(crc32_combine(crc_, crc[i], z_off_t(size_of(i))));
  }
  total_ += count;
  if (!out_) fail_cut_short(path_, temporary_);
}

void GzipWriter::write(const void* data, std::size_t count) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t batch = chunks_.size() * chunk_bytes;
  // Chunks begin at multiples of their size, so that the bytes do not tell how they came.
  while (pending_.size() + count >= batch) {
    if (pending_.empty()) {
      deflate(bytes, batch);
      bytes += batch;
      count -= batch;
    } else {
      const std::size_t part = batch - pending_.size();
      pending_.insert(pending_.end(), bytes, bytes + part);
      bytes += part;
      count -= part;
      deflate(pending_.data(), batch);
      pending_.clear();
    }
  }
  pending_.insert(pending_.end(), bytes, bytes + count);
}

void GzipWriter::close() {
  if (!pending_.empty()) deflate(pending_.data(), pending_.size());
  std::string end = {'\x03', '\0'};  // a last block of nothing
  for (const std::uint32_t value : {crc_, std::uint32_t(total_)})
    for (int shift = 0; shift < 32; shift += 8) end += char(value >> shift & 255);
  out_.write(end.data(), std::streamsize(end.size()));
  out_.close();
  if (!out_) fail_cut_short(path_, temporary_);
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail_writing(path_, error.value());
  temporary_.clear();
}

}  // namespace freeflow
