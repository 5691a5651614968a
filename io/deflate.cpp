#include <freeflow/io/deflate.h>

#include <isa-l/igzip_lib.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include <freeflow/io/compression.h>

namespace freeflow {

namespace {

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

/// The next bytes of the stream, deflated. False where they do not fit.
bool advance(isal_zstream& stream, const unsigned char* bytes, std::size_t count) {
  stream.next_in = const_cast<unsigned char*>(bytes);
  stream.avail_in = std::uint32_t(count);
  return isal_deflate(&stream) == COMP_OK && stream.avail_in == 0 && stream.avail_out > 0;
}

/// Deflates the bytes into blocks that end on a byte boundary and leave the stream open. False
/// where they do not fit into `room` bytes. Level 1 writes the same on every CPU with AVX2.
///
/// The first bytes go alone: a stream that begins with more than 16 has its first search, in ISA-L
/// 2.30, in a bucket named by the stream's address (igzip_icf_body_h1_gr_bt.asm,
/// .write_first_byte), and one process in thousands would write other bytes.
bool deflate_fast(const unsigned char* bytes, std::size_t count, std::size_t room,
                  std::vector<unsigned char>& out) {
  constexpr std::size_t most_first_bytes = 8;
  out.resize(room);
  std::vector<unsigned char> work(ISAL_DEF_LVL1_DEFAULT);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = 1;
  stream.level_buf = work.data();
  stream.level_buf_size = std::uint32_t(work.size());
  stream.flush = SYNC_FLUSH;
  stream.next_out = out.data();
  stream.avail_out = std::uint32_t(room);
  const std::size_t first = std::min(count, most_first_bytes);
  const bool fits = advance(stream, bytes, first) &&
                    (first == count || advance(stream, bytes + first, count - first));
  out.resize(stream.total_out);
  return fits;
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

}  // namespace

void deflate(const unsigned char* bytes, std::size_t count, int level,
             std::vector<unsigned char>& out) {
  const bool deflated = level < Compression::all_deflated ? worth_deflating(bytes, count, out)
                        : level < Compression::by_zlib
                            ? deflate_fast(bytes, count, count, out)
                            : deflate_small(bytes, count, count, level, out);
  if (deflated) return;
  out.clear();
  store(bytes, count, out);
}

}  // namespace freeflow
