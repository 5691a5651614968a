#include <freeflow/core/buffer.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <freeflow/core/context_state.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

#include <sys/mman.h>

namespace freeflow::detail {

namespace {
/// Host memory. What is large takes huge pages, where the system gives them to those who ask: a
/// volume's first touch then faults 512 times less often, and walks across slices miss the
/// translation of addresses less.
void* allocate_on_host(std::size_t bytes) {
  constexpr std::size_t line = 64, huge = std::size_t(2) << 20;
  const std::size_t unit = bytes >= 2 * huge ? huge : line;
  void* const pointer = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
#ifdef MADV_HUGEPAGE
  if (pointer && unit == huge) madvise(pointer, bytes, MADV_HUGEPAGE);  // a hint: may be refused
#endif
  return pointer;
}

void* allocate_on_gpu(ContextState& state, std::size_t bytes, const Planes& planes) {
  if (state.group && !state.alone && bytes >= state.group->least.bytes)
    return state.group->allocate(bytes, planes);
  GpuGroup* const keeper = (state.whole ? *state.whole : state).group.get();
  try {
    return cuda_runtime::allocate(state.pool, state.stream, bytes);
  } catch (const DeviceError&) {  // what a group keeps for its next buffers may fill the GPU
    if (!keeper || !keeper->give_back_spare()) throw;
    return cuda_runtime::allocate(state.pool, state.stream, bytes);
  }
}

/// Its address stands for memory that a rehearsal did not take; nothing reads or writes it.
alignas(64) char imaginary[64];
}  // namespace

void* allocate(ContextState& state, std::size_t bytes, const Planes& planes) {
  void* pointer = imaginary;
  if (state.kind == ContextKind::rehearsing) {
  } else if (state.device.is_cuda()) {
    const CurrentDevice current(state);
    pointer = allocate_on_gpu(state, bytes, planes);
  } else {
    pointer = allocate_on_host(bytes);
    if (!pointer)
      throw DeviceError("out of memory: " + std::to_string(bytes >> 20) + " MiB more than the " +
                        std::to_string(state.statistics().bytes_in_use >> 20) +
                        " MiB in use were needed");
  }
  ContextStatistics& s = state.statistics();
  s.allocations += 1;
  s.bytes_in_use += bytes;
  s.peak_bytes = std::max(s.peak_bytes, s.bytes_in_use);
  return pointer;
}

void deallocate(ContextState& state, void* pointer, std::size_t bytes) noexcept {
  state.statistics().bytes_in_use -= bytes;
  if (state.kind == ContextKind::rehearsing) return;
  if (state.group && state.group->deallocate(pointer)) return;
  if (!state.device.is_cuda()) return std::free(pointer);
  try {
    const CurrentDevice current(state);
    if (state.whole) state.whole->group->follow_first(state.gpu);  // which may still read it
    cuda_runtime::deallocate(state.stream, pointer);
  } catch (const DeviceError&) {  // the GPU is lost, its memory too
  }
}

void require_reachable(const ContextState& state, const void* pointer) {
  require(pointer != nullptr, "memory that is lent must not be null");
  if (state.kind == ContextKind::rehearsing || cuda_runtime::device_count() == 0) return;
  if (state.group && state.group->holds(pointer)) return;
  const int where = cuda_runtime::device_of(pointer),
            wanted = state.device.is_cuda() ? state.device.index : -1;
  const auto name = [](int index) {
    return index < 0 ? std::string("the host") : Device{Device::Kind::cuda, index}.name();
  };
  require(where == wanted, "the memory that is lent lies on " + name(where) +
                               ", but the context is of " + state.device.name());
}

}  // namespace freeflow::detail
