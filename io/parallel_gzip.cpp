#include <freeflow/io/parallel_gzip.h>

#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

constexpr std::size_t chunk_bytes = 1 << 20;

struct Chunk {
  std::vector<unsigned char> compressed;
  uLong crc = 0;
};

/// Deflates one chunk without header. All but the last end on a byte boundary and leave the stream
/// open, so that they can be joined. Matches are sought at distance one only: on smooth float
/// fields that is three times as fast as level 1 and no larger, and runs of one label shrink just
/// as well.
bool deflate_chunk(const unsigned char* bytes, std::size_t count, bool last, Chunk& chunk) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, -15, 9, Z_RLE) != Z_OK) return false;
  constexpr std::size_t flush_bytes = 16;
  try {
    chunk.compressed.resize(deflateBound(&stream, uLong(count)) + flush_bytes);
  } catch (...) {
    deflateEnd(&stream);
    throw;
  }
  stream.next_in = const_cast<unsigned char*>(bytes);
  stream.avail_in = unsigned(count);
  stream.next_out = chunk.compressed.data();
  stream.avail_out = unsigned(chunk.compressed.size());
  const int status = deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
  chunk.compressed.resize(stream.total_out);
  deflateEnd(&stream);
  chunk.crc = crc32(0, bytes, unsigned(count));
  return last ? status == Z_STREAM_END : status == Z_OK && stream.avail_in == 0;
}

void put_little_endian(std::ostream& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.put(char(value >> shift & 255));
}

/// Compresses `in` of `total` bytes batch by batch.
void compress(std::istream& in, std::uint64_t total, std::ostream& out, const std::string& source,
              const std::string& target, int threads) {
  out.write("\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10);  // deflate, no name, no time, fastest, Unix
  const std::size_t batch_chunks = 4 * std::size_t(threads);
  std::vector<unsigned char> batch(
      std::size_t(std::min<std::uint64_t>(total, batch_chunks * chunk_bytes)));
  std::vector<Chunk> chunks(batch_chunks);
  uLong crc = crc32(0, nullptr, 0);
  std::uint64_t done = 0;
  do {
    const std::size_t bytes = std::size_t(std::min<std::uint64_t>(total - done, batch.size()));
    if (!in.read(reinterpret_cast<char*>(batch.data()), std::streamsize(bytes)))
      fail_reading(source, "it became shorter while it was read");
    done += bytes;
    const std::size_t count = std::max<std::size_t>(1, (bytes + chunk_bytes - 1) / chunk_bytes);
    const auto size_of_chunk = [&](std::size_t i) {
      return std::min(chunk_bytes, bytes - i * chunk_bytes);
    };
    std::atomic<bool> failed = false;
    ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::size_t i = 0; i < count; ++i)
      errors.run([&] {
        if (!deflate_chunk(batch.data() + i * chunk_bytes, size_of_chunk(i),
                           done == total && i + 1 == count, chunks[i]))
          failed = true;
      });
    errors.rethrow();
    if (failed) fail_writing(target, "zlib failed");
    for (std::size_t i = 0; i < count; ++i) {
      out.write(reinterpret_cast<const char*>(chunks[i].compressed.data()),
                std::streamsize(chunks[i].compressed.size()));
      crc = crc32_combine(crc, chunks[i].crc, z_off_t(size_of_chunk(i)));
    }
  } while (done < total);
  put_little_endian(out, std::uint32_t(crc));
  put_little_endian(out, std::uint32_t(total));
}

}  // namespace

void gzip_file(const std::string& source, const std::string& target, int threads) {
  std::error_code error;
  const std::uint64_t total = std::filesystem::file_size(source, error);
  std::ifstream in(source, std::ios::binary);
  if (error || !in) fail_reading(source, "it cannot be opened");
  const std::string temporary = target + ".tmp";
  std::ofstream out(temporary, std::ios::binary);
  if (!out) fail_writing(target, "its folder is missing or not writable");
  try {
    compress(in, total, out, source, target, threads > 0 ? threads : omp_get_max_threads());
    out.close();
    if (!out) fail_writing(target, "only a part of it could be written; is the disk full?");
    std::filesystem::rename(temporary, target, error);
    if (error) fail_writing(target, error.message());
  } catch (...) {
    out.close();
    std::filesystem::remove(temporary, error);
    throw;
  }
}

}  // namespace freeflow
