// A context is one device with its stream and memory pool; every operation takes it first. Work on a GPU is queued:
// only copy_to_host and synchronize wait. One thread at a time may use a context, any thread; a thread
// may use several, also of several GPUs. Moving a context is cheap; it cannot be copied.
#pragma once

#include <cstddef>
#include <memory>

#include <freeflow/core/device.h>

namespace freeflow {

class ContextState;

namespace detail {
/// Makes a CUDA context's GPU the calling thread's current one; nothing on the CPU.
void make_current(const ContextState&);
}  // namespace detail

/// What the tests count and the reports print. Bytes are of device memory (of host memory on the CPU).
struct ContextStatistics {
  std::size_t allocations = 0;
  std::size_t synchronizations = 0;
  std::size_t bytes_in_use = 0;
  std::size_t peak_bytes = 0;
};

class Context {
 public:
  /// threads: number of CPU threads, 0 for all that OpenMP offers. Throws DeviceError when the device cannot be used.
  explicit Context(Device device = {}, int threads = 0);
  Context(Context&&) noexcept = default;
  Context& operator=(Context&&) noexcept = default;

  const Device& device() const;
  int threads() const;
  /// The cudaStream_t of a CUDA context; null on the CPU.
  void* stream() const;
  const ContextStatistics& statistics() const;
  void reset_peak();

  void synchronize();
  void copy_to_device(void* target, const void* host_source, std::size_t bytes);
  /// Waits for all queued work.
  void copy_to_host(void* host_target, const void* source, std::size_t bytes);
  /// Host memory of landing_bytes that kernels may write too (page-locked on a GPU): a few numbers to be read after synchronize(), without
  /// a copy. copy_to_host writes over it.
  void* landing() const;
  static constexpr std::size_t landing_bytes = 16384;
  void copy_on_device(void* target, const void* source, std::size_t bytes);
  void fill_zero(void* target, std::size_t bytes);

  const std::shared_ptr<ContextState>& state() const { return state_; }

 private:
  std::shared_ptr<ContextState> state_;
};

}  // namespace freeflow
