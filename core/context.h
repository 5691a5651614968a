// A context is one device with a stream and a memory pool of its own; every operation takes it
// first. Several GPUs can be that one device (gpu_group.h). Work on a GPU is queued: only
// copy_to_host and synchronize wait. One thread at a time may use a context, any thread; a thread
// may use several, also of several GPUs, and several threads one each. Moving a context is cheap;
// it cannot be copied.
//
// Memory belongs to a device, not to a context: a buffer made by one context of a GPU may be used
// with another of the same GPU once the first has been synchronized. With a context of another
// device it is refused.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <freeflow/core/context_statistics.h>
#include <freeflow/core/device.h>

namespace freeflow {

class ContextState;
class GpuGroup;
class Staging;

namespace detail {
[[noreturn]] void refuse_moved_context();
}  // namespace detail

class Context {
 public:
  /// threads: number of CPU threads, 0 for all that OpenMP offers. Throws DeviceError when the
  /// device cannot be used.
  explicit Context(Device device = {}, int threads = 0);
  /// A context that queues its work on a stream of the caller's (a cudaStream_t of that GPU), who
  /// keeps it alive until the context and all that was allocated with it are gone. Throws
  /// InvalidArgument for a CPU or a null stream, DeviceError when the device cannot be used.
  static Context on_stream(Device device, void* stream, int threads = 0);
  Context(Context&&) noexcept = default;
  Context& operator=(Context&&) noexcept = default;

  /// A context of the same device on which nothing happens: memory is counted and not taken,
  /// kernels and copies do nothing, what comes back to the host is zero. What a piece of work
  /// allocates is found out by rehearsing it (statistics().peak_bytes).
  Context rehearsal() const;
  bool rehearses() const;

  /// A context for each GPU that shares the work: what is queued with it runs on that GPU alone and
  /// is not dealt out, and what is allocated with it lies there, for all to reach. The GPUs go side
  /// by side within SideBySide (side_by_side.h). Where one device does the work, that device's
  /// alone. They copy nothing to the host.
  std::vector<Context> parts() const;

  const Device& device() const;
  int threads() const;
  /// The cudaStream_t of a CUDA context; null on the CPU.
  void* stream() const;
  /// The GPUs that share the work; null where one device does it.
  const GpuGroup* group() const;
  /// How many devices share the work; in a rehearsal too, which has no group.
  int sharing() const;
  /// Of a context of parts(), the number of its GPU in the device; else 0.
  int gpu() const;
  const ContextStatistics& statistics() const;
  void reset_peak();

  void synchronize();
  /// The source may change when this returns; one in page-locked memory only after synchronize().
  void copy_to_device(void* target, const void* host_source, std::size_t bytes);
  /// Waits for all queued work.
  void copy_to_host(void* host_target, const void* source, std::size_t bytes);
  /// Host memory of readback_bytes that kernels may write too (page-locked on a GPU): a few numbers
  /// to be read after synchronize(), without a copy. copy_to_host writes over it.
  void* readback() const;
  void copy_on_device(void* target, const void* source, std::size_t bytes);
  void fill_zero(void* target, std::size_t bytes);

  /// Throws InvalidArgument where the context was moved from.
  const std::shared_ptr<ContextState>& state() const {
    if (!state_) detail::refuse_moved_context();
    return state_;
  }

 private:
  explicit Context(std::shared_ptr<ContextState> state) : state_(std::move(state)) {}
  /// Null where so much is copied without.
  Staging* staging_for(std::size_t bytes);

  std::shared_ptr<ContextState> state_;
};

namespace detail {

/// Makes a CUDA context's GPU the calling thread's current one until the end of the scope; nothing
/// on the CPU.
class CurrentDevice {
 public:
  explicit CurrentDevice(const ContextState&);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = -1;  // -1: nothing to restore
};

/// Throws InvalidArgument, saying where `owner` lives and what the context is of, unless memory of
/// `owner` may be used with the context.
void require_same_device(const ContextState& context, const ContextState& owner);

}  // namespace detail

/// Throws InvalidArgument unless everything in `things` (buffers, volumes, fields, lattices; empty
/// ones always do) lies on the device of the context.
template <class... Things>
void require_on_device(const Context& ctx, const Things&... things) {
  const auto check = [&](const std::shared_ptr<ContextState>& owner) {
    if (owner && owner != ctx.state()) detail::require_same_device(*ctx.state(), *owner);
  };
  (check(things.owner()), ...);
}

}  // namespace freeflow
