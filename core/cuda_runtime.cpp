// The CUDA runtime behind core, compiled by g++ where the toolkit was found. cudart is linked
// statically and loads the driver itself, so the same binary runs where there is none and finds no
// device.
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>
#include <freeflow/core/cuda_check.cuh>

#include <cstdint>
#include <string>

namespace freeflow {

void throw_cuda_error(cudaError_t error, const char* file, unsigned line) {
  cudaGetLastError();
  const bool stays = cudaFree(nullptr) != cudaSuccess;  // what ends a process' use of the GPU
  throw DeviceError(std::string("CUDA: ") + cudaGetErrorString(error) + " (" + file + ":" +
                    std::to_string(line) + ")" +
                    (stays ? "; the GPU no longer answers: nvidia-smi and the system's log may say "
                             "why, a new run or the CPU may do"
                           : ""));
}

namespace cuda_runtime {

int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::string device_name(int index) {
  cudaDeviceProp properties;
  cuda_check(cudaGetDeviceProperties(&properties, index));
  return properties.name;
}

void make_current(int index) { cuda_check(cudaSetDevice(index)); }

void make_current_quietly(int index) noexcept { cudaSetDevice(index); }

int current_device() {
  int index = 0;
  cuda_check(cudaGetDevice(&index));
  return index;
}

int device_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  cuda_check(cudaPointerGetAttributes(&attributes, pointer));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged
             ? attributes.device
             : -1;
}

void* create_stream(int index) {
  make_current(index);
  cudaStream_t stream;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void* create_event(int index) {
  make_current(index);
  cudaEvent_t event;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void destroy_event(void* event) noexcept { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

void record(void* event, void* stream) {
  cuda_check(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)));
}

void wait(void* stream, void* event) {
  cuda_check(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0));
}

void wait_here(void* event) { cuda_check(cudaEventSynchronize(static_cast<cudaEvent_t>(event))); }

void* create_pool(int index, int first, int count) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, index};
  cudaMemPool_t pool;
  cuda_check(cudaMemPoolCreate(&pool, &properties));
  std::uint64_t keep_everything = UINT64_MAX;
  cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_everything));
  for (int peer = first; peer < first + count; ++peer) {
    if (peer == index) continue;
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, peer};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    cuda_check(cudaMemPoolSetAccess(pool, &access, 1));
  }
  return pool;
}

void trim_pool(void* pool) noexcept { cudaMemPoolTrimTo(static_cast<cudaMemPool_t>(pool), 0); }

void destroy_pool(void* pool) noexcept { cudaMemPoolDestroy(static_cast<cudaMemPool_t>(pool)); }

void destroy_stream(void* stream) noexcept { cudaStreamDestroy(static_cast<cudaStream_t>(stream)); }

void throw_out_of_memory(std::size_t bytes, const std::string& free) {
  throw DeviceError("out of GPU memory: " + std::to_string((bytes >> 20) + 1) +
                    " MiB more were needed, " + free +
                    " MiB are free; close other programs, take more GPUs or the CPU, or resample "
                    "the images to a coarser grid");
}

void* allocate(void* pool, void* stream, std::size_t bytes) {
  void* pointer = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(
      &pointer, bytes, static_cast<cudaMemPool_t>(pool), static_cast<cudaStream_t>(stream));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    throw_out_of_memory(bytes,
                        std::to_string(free_bytes >> 20) + " of " + std::to_string(total >> 20));
  }
  cuda_check(error);
  return pointer;
}

void deallocate(void* stream, void* pointer) noexcept {
  cudaFreeAsync(pointer, static_cast<cudaStream_t>(stream));
}

void* allocate_host(std::size_t bytes) {
  void* pointer = nullptr;
  cuda_check(cudaMallocHost(&pointer, bytes));
  return pointer;
}

void deallocate_host(void* pointer) noexcept { cudaFreeHost(pointer); }

std::size_t free_bytes(void* pool) {
  std::size_t free_bytes = 0, total = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &total));
  if (!pool) return free_bytes;
  std::uint64_t reserved = 0, used = 0;
  cuda_check(cudaMemPoolGetAttribute(static_cast<cudaMemPool_t>(pool),
                                     cudaMemPoolAttrReservedMemCurrent, &reserved));
  cuda_check(cudaMemPoolGetAttribute(static_cast<cudaMemPool_t>(pool),
                                     cudaMemPoolAttrUsedMemCurrent, &used));
  return free_bytes + (reserved - used);
}

void synchronize(void* stream) {
  cuda_check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

void synchronize_quietly(void* stream) noexcept {
  cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
}

void copy(void* stream, void* target, const void* source, std::size_t bytes) {
  cuda_check(
      cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)));
}

void fill_zero(void* stream, void* target, std::size_t bytes) {
  cuda_check(cudaMemsetAsync(target, 0, bytes, static_cast<cudaStream_t>(stream)));
}

}  // namespace cuda_runtime
}  // namespace freeflow
