#include <freeflow/core/staging.h>

#include <omp.h>

#include <algorithm>
#include <cstring>

#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/parallel_errors.h>

namespace freeflow {

namespace {
constexpr std::size_t piece = std::size_t(1) << 20;
constexpr int most_threads = 8;  // which keep up with the bus
}  // namespace

Staging::Staging(int gpu, void* stream, int threads)
    : stream_(stream), slots_(std::size_t(std::clamp(threads, 1, most_threads))) {
  try {
    for (Slot& slot : slots_) {
      slot.event = cuda_runtime::create_event(gpu);
      slot.memory = cuda_runtime::allocate_host(piece);
    }
  } catch (...) {
    release();
    throw;
  }
}

Staging::~Staging() { release(); }

void Staging::release() noexcept {
  for (const Slot& slot : slots_) {
    if (slot.memory) cuda_runtime::deallocate_host(slot.memory);
    if (slot.event) cuda_runtime::destroy_event(slot.event);
  }
}

template <class CopyPiece>
void Staging::in_pieces(std::size_t bytes, const CopyPiece& copy) {
  ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(int(slots_.size()))
  for (std::size_t offset = 0; offset < bytes; offset += piece)
    errors.run([&] {
      copy(offset, std::min(piece, bytes - offset), slots_[std::size_t(omp_get_thread_num())]);
    });
  errors.rethrow();
}

void Staging::to_host(const Copy& copy, void* target, const void* source, std::size_t bytes) {
  in_pieces(bytes, [&](std::size_t offset, std::size_t count, const Slot& slot) {
    copy(slot.memory, static_cast<const char*>(source) + offset, count);
    cuda_runtime::record(slot.event, stream_);
    cuda_runtime::wait_here(slot.event);
    std::memcpy(static_cast<char*>(target) + offset, slot.memory, count);
  });
}

void Staging::to_device(const Copy& copy, void* target, const void* source, std::size_t bytes) {
  in_pieces(bytes, [&](std::size_t offset, std::size_t count, const Slot& slot) {
    cuda_runtime::wait_here(slot.event);
    std::memcpy(slot.memory, static_cast<const char*>(source) + offset, count);
    copy(static_cast<char*>(target) + offset, slot.memory, count);
    cuda_runtime::record(slot.event, stream_);
  });
}

}  // namespace freeflow
