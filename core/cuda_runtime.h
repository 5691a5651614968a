// The CUDA runtime as the rest of core sees it: cuda_runtime.cpp, or in a build without CUDA
// no_cuda_runtime.cpp, stubs that find no device.
#pragma once

#include <cstddef>
#include <string>

namespace freeflow {

namespace cuda_runtime {
int device_count() noexcept;
std::string device_name(int index);
int current_device();
void make_current(int index);
/// For destructors: where it fails the next call says so.
void make_current_quietly(int index) noexcept;
/// The GPU that a pointer's memory lies on; -1 for host memory, page-locked or not.
int device_of(const void* pointer);
void* create_stream(int index);
void destroy_stream(void* stream) noexcept;
void* create_event(int index);
void destroy_event(void* event) noexcept;
/// An event stands for what its GPU's stream has been given until now; a stream of any GPU that
/// waits for it goes on after that.
void record(void* event, void* stream);
void wait(void* stream, void* event);
/// The calling thread waits for it; not at all where it was never recorded.
void wait_here(void* event);
/// A pool that keeps what is freed for the next allocation; `count` GPUs from `first` on use what
/// is allocated from it on one of them.
void* create_pool(int index, int first, int count);
void destroy_pool(void* pool) noexcept;
/// Gives memory that nobody uses back to the GPU, once what was queued has been done.
void trim_pool(void* pool) noexcept;
/// Throws DeviceError that says how much was asked for and how much is free.
void* allocate(void* pool, void* stream, std::size_t bytes);
void deallocate(void* stream, void* pointer) noexcept;
/// Throws DeviceError that says so; `free`: how many MiB are free.
[[noreturn]] void throw_out_of_memory(std::size_t bytes, const std::string& free);
/// Page-locked host memory.
void* allocate_host(std::size_t bytes);
void deallocate_host(void* pointer) noexcept;
/// Of the current device, with what the pool holds and nobody uses.
std::size_t free_bytes(void* pool);
void synchronize(void* stream);
void synchronize_quietly(void* stream) noexcept;
void copy(void* stream, void* target, const void* source, std::size_t bytes);
void fill_zero(void* stream, void* target, std::size_t bytes);
}  // namespace cuda_runtime

}  // namespace freeflow
