// Deflates files in chunks of 1 MiB on some threads by ISA-L, libdeflate and zlib: a row of JSON
// for each library and level. Built and run by scripts/bench_gzip, as FreeFlow itself does not link
// libdeflate. usage: gzip_libraries THREADS FILE...
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;
/// Deflates a chunk into the room and returns the number of bytes.
using Deflate = std::function<std::size_t(const unsigned char*, std::size_t, Bytes&)>;

constexpr std::size_t chunk_bytes = 1 << 20;

std::size_t by_isal(int level, const unsigned char* in, std::size_t count, Bytes& out) {
  constexpr std::uint32_t work_bytes[] = {0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                          ISAL_DEF_LVL3_DEFAULT};
  Bytes work(work_bytes[level]);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = std::uint32_t(level);
  stream.level_buf = work.data();
  stream.level_buf_size = work_bytes[level];
  stream.flush = SYNC_FLUSH;
  stream.next_in = const_cast<unsigned char*>(in);
  stream.avail_in = std::uint32_t(count);
  stream.next_out = out.data();
  stream.avail_out = std::uint32_t(out.size());
  isal_deflate(&stream);
  return stream.total_out;
}

std::size_t by_libdeflate(int level, const unsigned char* in, std::size_t count, Bytes& out) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(level);
  const std::size_t n = libdeflate_deflate_compress(compressor, in, count, out.data(), out.size());
  libdeflate_free_compressor(compressor);
  return n;
}

std::size_t by_zlib(int level, const unsigned char* in, std::size_t count, Bytes& out) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<unsigned char*>(in);
  stream.avail_in = uInt(count);
  stream.next_out = out.data();
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_SYNC_FLUSH);
  deflateEnd(&stream);
  return stream.total_out;
}

struct Row {
  double seconds;
  std::size_t bytes;
};

Row time(const Bytes& raw, int threads, const Deflate& deflate_chunk) {
  std::size_t bytes = 0;
  const auto start = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads) reduction(+ : bytes)
  {
    Bytes out(2 * chunk_bytes);
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < raw.size(); i += chunk_bytes)
      bytes += deflate_chunk(raw.data() + i, std::min(chunk_bytes, raw.size() - i), out);
  }
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), bytes};
}

}  // namespace

int main(int argc, char** argv) {
  struct Library {
    const char* name;
    std::size_t (*deflate)(int, const unsigned char*, std::size_t, Bytes&);
    std::vector<int> levels;
  };
  const Library libraries[] = {{"ISA-L", by_isal, {0, 1, 2, 3}},
                               {"libdeflate", by_libdeflate, {1, 3, 6, 9}},
                               {"zlib", by_zlib, {1, 3, 6, 9}}};
  for (int file = 2; file < argc; ++file) {
    std::ifstream in(argv[file], std::ios::binary);
    const Bytes raw((std::istreambuf_iterator<char>(in)), {});
    for (const Library& library : libraries)
      for (const int level : library.levels) {
        const Row row = time(raw, std::atoi(argv[1]),
                             [&](const unsigned char* bytes, std::size_t count, Bytes& out) {
                               return library.deflate(level, bytes, count, out);
                             });
        std::printf(
            "{\"file\": \"%s\", \"library\": \"%s\", \"level\": %d, \"seconds\": %.3f, "
            "\"raw_bytes\": %zu, \"bytes\": %zu}\n",
            argv[file], library.name, level, row.seconds, raw.size(), row.bytes);
        std::fflush(stdout);
      }
  }
}
