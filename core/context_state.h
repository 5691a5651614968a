// What a context owns. One subclass-free struct; the CUDA calls stand in cuda_runtime.cpp.
#pragma once

#include <memory>

#include <freeflow/core/context_statistics.h>
#include <freeflow/core/device.h>
#include <freeflow/core/gpu_group.h>
#include <freeflow/core/staging.h>

namespace freeflow {

enum class ContextKind {
  working,
  on_lent_stream,
  of_one_gpu,  ///< of a group: Context::parts
  rehearsing   ///< counts what it is asked for and does nothing
};

class ContextState {
 public:
  ContextState(Device device, int threads, ContextKind kind, void* lent_stream);
  /// One GPU of the group that `whole` is, counted from its first; `whole` outlives it.
  ContextState(std::shared_ptr<ContextState> whole, int gpu);
  ~ContextState();
  ContextState(const ContextState&) = delete;

  Device device;
  int gpu = 0;  ///< the current one of the device's, counted from its first
  int threads = 1;
  ContextKind kind = ContextKind::working;
  void* stream = nullptr;
  void* pool = nullptr;
  void* readback = nullptr;          ///< of readback_bytes
  std::unique_ptr<Staging> staging;  ///< once a large copy has asked for it
  /// Copies go by such pieces: CUDA promises nothing for one that spans memory of several GPUs.
  std::size_t on_one_gpu(const void* pointer, std::size_t bytes) const {
    return group ? group->stripe_at(pointer, bytes).bytes : bytes;
  }

  std::unique_ptr<GpuGroup> group;  ///< where the device is several GPUs
  bool alone = false;               ///< they leave all to the first for now (small_work.h)
  /// Voxels from which on work is worth dealing out (docs/notes/large.md).
  std::size_t least_shared = std::size_t(1) << 25;
  std::shared_ptr<ContextState> whole;
  /// Memory and waits are counted with the whole.
  ContextStatistics& statistics() { return whole ? whole->statistics() : statistics_; }

 private:
  /// Owns nothing yet; what throws after it has its destructor give back what was made.
  ContextState(Device device, int threads, ContextKind kind);

  ContextStatistics statistics_;
};

}  // namespace freeflow
