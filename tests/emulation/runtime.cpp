// The runtime of the emulated device: device memory is host memory that it knows of, 16 GiB of it,
// filled with what nobody meant to write. A guard behind every piece shows who wrote beyond it.
#include <cuda_runtime_api.h>
#include <emulated_gpu.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "block.h"

struct EmulatedStream {
  int device;
};
struct EmulatedEvent {
  int device;
};
struct EmulatedPool {
  std::uint64_t used = 0, threshold = 0;
};

namespace {

constexpr std::size_t device_bytes = std::size_t(16) << 30;
constexpr std::size_t line = 256;
constexpr unsigned char garbage = 0xCD, guard = 0xCE;

/// What a piece takes with its guard, which fills at least a line.
std::size_t with_guard(std::size_t bytes) { return (bytes + line - 1) / line * line + line; }

/// Freeing happens in destructors, so that what is wrong is said and ends the program.
void check_guard(const char* piece, std::size_t bytes) {
  for (std::size_t i = bytes; i < with_guard(bytes); ++i)
    if (static_cast<unsigned char>(piece[i]) != guard) {
      std::fputs("a kernel wrote beyond a piece of device memory\n", stderr);
      std::abort();
    }
}
std::mutex turn;
std::size_t used_bytes = 0;

struct Piece {
  std::size_t bytes;
  EmulatedPool* pool;
};
std::map<const char*, Piece>& pieces() {
  static auto* all = new std::map<const char*, Piece>;  // contexts with static lifetime free later
                                                        // than anything here would live
  return *all;
}

EmulatedPool default_pool;
thread_local int current = 0;

int devices() {
  const char* wanted = std::getenv("FREEFLOW_EMULATED_DEVICES");
  return wanted ? std::atoi(wanted) : 3;
}

/// Calls of the runtime so far, and after how many of them the GPU is lost.
std::atomic<long> calls = 0, last_call = emulation::never;

/// What every call returns that would have done its work. What frees or destroys does it all the
/// same, as a process gives back the host's memory.
cudaError_t done() { return ++calls > last_call ? cudaErrorDeviceUnavailable : cudaSuccess; }
bool is_lost() { return done() != cudaSuccess; }

int processors() {
  const char* wanted = std::getenv("FREEFLOW_EMULATED_PROCESSORS");
  return wanted ? std::atoi(wanted) : 3;
}

}  // namespace

cudaError_t cudaGetLastError() { return done(); }
cudaError_t cudaFree(void*) { return done(); }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation    ? "out of memory"
         : error == cudaErrorDeviceUnavailable ? "the device is gone"
                                               : "invalid argument";
}
cudaError_t cudaGetDeviceCount(int* count) { return *count = devices(), cudaSuccess; }
cudaError_t cudaGetDevice(int* index) { return *index = current, done(); }
cudaError_t cudaSetDevice(int index) {
  if (index < 0 || index >= devices()) return cudaErrorInvalidValue;
  return current = index, done();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "emulated, for tests");
  return done();
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = processors(); break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 232448; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
  }
  return done();
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const std::lock_guard lock(turn);
  const auto* at = static_cast<const char*>(pointer);
  auto piece = pieces().upper_bound(at);
  const bool ours = piece != pieces().begin() && at < (--piece)->first + piece->second.bytes;
  *attributes = {ours ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, 0};
  return done();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (is_lost()) return cudaErrorDeviceUnavailable;
  return *stream = new EmulatedStream{current}, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete stream, done(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return done(); }

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return done(); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (is_lost()) return cudaErrorDeviceUnavailable;
  return *event = new EmulatedEvent{current}, cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return done(); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, done(); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return event->device == stream->device ? done() : cudaErrorInvalidValue;
}

void emulation::check_stream(const void* stream) {
  if (stream && static_cast<const EmulatedStream*>(stream)->device != current)
    throw std::logic_error("a launch on a stream of another GPU than the current one");
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  if (is_lost()) return cudaErrorDeviceUnavailable;
  return *pool = new EmulatedPool, cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
  return done();
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return delete pool, done(); }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return done(); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value) {
  std::memcpy(&pool->threshold, value, 8);
  return done();
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  std::memcpy(value, attribute == cudaMemPoolAttrReleaseThreshold ? &pool->threshold : &pool->used,
              8);
  return done();
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  return *pool = &default_pool, cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t) {
  if (is_lost()) return cudaErrorDeviceUnavailable;
  const std::lock_guard lock(turn);
  if (bytes > device_bytes - used_bytes) return cudaErrorMemoryAllocation;
  auto* piece = static_cast<char*>(std::aligned_alloc(line, with_guard(bytes)));
  if (!piece) return cudaErrorMemoryAllocation;
  std::memset(piece, garbage, bytes);
  std::memset(piece + bytes, guard, with_guard(bytes) - bytes);
  pieces()[piece] = {bytes, pool};
  used_bytes += bytes;
  pool->used += bytes;
  *pointer = piece;
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  if (!pointer) return done();
  const std::lock_guard lock(turn);
  const auto piece = pieces().find(static_cast<char*>(pointer));
  if (piece == pieces().end()) return cudaErrorInvalidValue;
  check_guard(piece->first, piece->second.bytes);
  used_bytes -= piece->second.bytes;
  piece->second.pool->used -= piece->second.bytes;
  pieces().erase(piece);
  std::free(pointer);
  return done();
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  if (is_lost()) return cudaErrorDeviceUnavailable;
  *pointer = std::malloc(bytes);
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeHost(void* pointer) { return std::free(pointer), done(); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(turn);
  *free = device_bytes - used_bytes;
  *total = device_bytes;
  return done();
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (bytes > 0) std::memmove(target, source, bytes);
  return done();
}
cudaError_t cudaMemcpy2DAsync(void* target, std::size_t pitch, const void* source,
                              std::size_t source_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<char*>(target) + row * pitch,
                static_cast<const char*>(source) + row * source_pitch, width);
  return done();
}
cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t) {
  if (bytes > 0) std::memset(target, value, bytes);
  return done();
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return *attributes = {64, 1024, 0, 0, 48 * 1024}, done();
}
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc*, const void*) {
  *texture = reinterpret_cast<cudaTextureObject_t>(resource->res.linear.devPtr);
  return done();
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) { return done(); }

void emulation::lose_gpu_after(long more_calls) {
  last_call = more_calls == never ? never : calls + more_calls;
}
long emulation::runtime_calls() { return calls; }
