// A thread block on the host: its threads are fibers of one thread, which run one after the other
// until they come to a barrier or to an exchange within a warp. The order turns round at every
// barrier and differs from block to block, so that what needs no barrier on a GPU by chance shows.
#pragma once

#include <cstdint>
#include <functional>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

namespace emulation {

/// Where the code that runs now stands in the launch.
struct Place {
  dim3 thread{0, 0, 0}, block{0, 0, 0}, threads, blocks;
  unsigned index = 0;  // of the thread in its block
};
extern constinit thread_local Place place;
inline Place& here() { return place; }

/// Whether a launch's threads may depend on each other, or neither wait nor share (those of
/// for_each_voxel): then they need no fibers, and blocks run on all cores.
enum class Threads { dependent, independent };

/// Runs `thread` for every thread of the grid. Throws std::logic_error where threads wait for each
/// other for ever.
void run_grid(Threads kind, dim3 blocks, dim3 threads, std::size_t shared_bytes,
              const std::function<void()>& thread);

/// The block's dynamic shared memory, without anything useful in it when a block begins.
unsigned char* dynamic_shared();

/// __syncthreads; says whether `value` was true for any thread.
bool wait_for_block(bool value = false);

/// Says that a thread writes a word of global memory without an atomic. Throws std::logic_error
/// where another of its block has done so since the last barrier.
void write_alone(const void* word);

/// Waits for the lanes of `mask` and returns what each of the warp's lanes gave. Valid until the
/// next call.
const std::uint64_t* exchange(unsigned mask, std::uint64_t given);

/// Throws std::logic_error where a launch's stream is not of the current GPU.
void check_stream(const void* stream);

struct Launch {
  Threads kind;
  dim3 blocks, threads;
  std::size_t shared_bytes;

  Launch(Threads k, dim3 b, dim3 t, std::size_t bytes, const void* stream)
      : kind(k), blocks(b), threads(t), shared_bytes(bytes) {
    check_stream(stream);
  }

  template <class Kernel>
  auto run(Kernel kernel) const {
    return [*this, kernel](auto... given) {
      run_grid(kind, blocks, threads, shared_bytes, [&] { kernel(given...); });
    };
  }
};

}  // namespace emulation
