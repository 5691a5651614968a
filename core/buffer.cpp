#include <freeflow/core/buffer.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <freeflow/core/context_state.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow::detail {

namespace {
/// Its address stands for memory that a rehearsal did not take; nothing reads or writes it.
alignas(64) char imaginary[64];
}  // namespace

void* allocate(ContextState& state, std::size_t bytes) {
  void* pointer = imaginary;
  if (state.kind == ContextKind::rehearsing) {
  } else if (state.device.is_cuda()) {
    const CurrentDevice current(state);
    pointer = cuda_runtime::allocate(state.pool, state.stream, bytes);
  } else {
    pointer = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!pointer)
      throw DeviceError("out of memory: " + std::to_string(bytes >> 20) + " MiB more than the " +
                        std::to_string(state.statistics.bytes_in_use >> 20) +
                        " MiB in use were needed");
  }
  ContextStatistics& s = state.statistics;
  s.allocations += 1;
  s.bytes_in_use += bytes;
  s.peak_bytes = std::max(s.peak_bytes, s.bytes_in_use);
  return pointer;
}

void deallocate(ContextState& state, void* pointer, std::size_t bytes) noexcept {
  state.statistics.bytes_in_use -= bytes;
  if (state.kind == ContextKind::rehearsing) return;
  if (state.device.is_cuda())
    cuda_runtime::deallocate(state.stream, pointer);
  else
    std::free(pointer);
}

void require_reachable(const ContextState& state, const void* pointer) {
  require(pointer != nullptr, "memory that is lent must not be null");
  if (state.kind == ContextKind::rehearsing || cuda_runtime::device_count() == 0) return;
  const int where = cuda_runtime::device_of(pointer),
            wanted = state.device.is_cuda() ? state.device.index : -1;
  const auto name = [](int index) {
    return index < 0 ? std::string("the host") : Device{Device::Kind::cuda, index}.name();
  };
  require(where == wanted, "the memory that is lent lies on " + name(where) +
                               ", but the context is of " + state.device.name());
}

}  // namespace freeflow::detail
