// Private: what a context owns. One subclass-free struct; the CUDA calls stand in cuda_runtime.cpp.
#pragma once

#include <cstddef>

#include <freeflow/core/context.h>

namespace freeflow {

class ContextState {
 public:
  ContextState(Device device, int threads);
  ~ContextState();
  ContextState(const ContextState&) = delete;

  Device device;
  int threads = 1;
  void* stream = nullptr;
  void* landing = nullptr;  ///< of Context::landing_bytes
  ContextStatistics statistics;
};

/// The CUDA runtime as the rest of core sees it. Without CUDA in the build these are stubs that find no device.
namespace cuda_runtime {
int device_count() noexcept;
std::string device_name(int index);
void make_current(int index);
void* create_stream(int index);
void destroy_stream(void* stream) noexcept;
/// Throws DeviceError that says how much was asked for and how much is free.
void* allocate(void* stream, std::size_t bytes);
void deallocate(void* stream, void* pointer) noexcept;
/// Page-locked host memory.
void* allocate_host(std::size_t bytes);
void deallocate_host(void* pointer) noexcept;
std::size_t free_bytes();
void synchronize(void* stream);
void copy(void* stream, void* target, const void* source, std::size_t bytes);
void fill_zero(void* stream, void* target, std::size_t bytes);
}  // namespace cuda_runtime

}  // namespace freeflow
