// What a context owns. One subclass-free struct; the CUDA calls stand in cuda_runtime.cpp.
#pragma once

#include <freeflow/core/context_statistics.h>
#include <freeflow/core/device.h>

namespace freeflow {

enum class ContextKind {
  working,
  on_lent_stream,
  rehearsing  ///< counts what it is asked for and does nothing
};

class ContextState {
 public:
  ContextState(Device device, int threads, ContextKind kind, void* lent_stream = nullptr);
  ~ContextState();
  ContextState(const ContextState&) = delete;

  Device device;
  int threads = 1;
  ContextKind kind = ContextKind::working;
  void* stream = nullptr;
  void* pool = nullptr;
  void* readback = nullptr;  ///< of readback_bytes
  ContextStatistics statistics;
};

}  // namespace freeflow
