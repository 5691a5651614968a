#include <freeflow/io/fresh_memory.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>

namespace freeflow {

void make_present([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  constexpr std::size_t worthwhile = std::size_t(64) << 20, most_threads = 8;
  if (bytes < worthwhile) return;
  // Whole pages: what shares one with other memory is left to its first touch.
  const auto page = std::uintptr_t(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (std::uintptr_t(memory) + page - 1) / page,
                       pages = (std::uintptr_t(memory) + bytes) / page - first,
                       parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                       most_threads);
  const auto ask = [=](std::uintptr_t part) {
    const std::uintptr_t from = first + pages * part / parts,
                         to = first + pages * (part + 1) / parts;
    madvise(reinterpret_cast<void*>(from * page), (to - from) * page, MADV_POPULATE_WRITE);
  };
  std::vector<std::jthread> others;
  try {
    for (std::uintptr_t part = 1; part < parts; ++part) others.emplace_back(ask, part);
  } catch (const std::system_error&) {  // no more threads
  }
  ask(0);
#endif
}

}  // namespace freeflow
