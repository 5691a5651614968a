#include <freeflow/io/fresh_memory.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>

namespace freeflow {

void make_present([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  constexpr std::size_t worthwhile = std::size_t(64) << 20, most_threads = 8;
  if (bytes < worthwhile) return;
  // Whole pages: what shares one with other memory is left to its first touch.
  const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  void* aligned = memory;
  std::size_t rest = bytes;
  if (!std::align(page, page, aligned, rest)) return;
  char* const first = static_cast<char*>(aligned);
  const std::size_t pages = rest / page, parts = std::clamp<std::size_t>(
                                             std::thread::hardware_concurrency(), 1, most_threads);
  const auto ask = [=](std::size_t part) {
    const std::size_t from = pages * part / parts, to = pages * (part + 1) / parts;
    madvise(first + from * page, (to - from) * page, MADV_POPULATE_WRITE);
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t part = 1; part < parts; ++part) others.emplace_back(ask, part);
  } catch (const std::system_error&) {  // no more threads
  }
  ask(0);
#endif
}

}  // namespace freeflow
