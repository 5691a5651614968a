// Stands in for cuda_runtime.cpp in a build without CUDA: there is no device, so nothing else is
// ever called.
#include <freeflow/core/cuda_mapping.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow {

namespace {
[[noreturn]] void refuse() { throw DeviceError("this build has no CUDA"); }
}  // namespace

namespace cuda_mapping {

void connect(const Device&) { refuse(); }
std::size_t page_bytes(const Device&) { refuse(); }
void* map(const Device&, const std::vector<Stripe>&) { refuse(); }
void unmap(void*, const std::vector<Stripe>&) noexcept {}

}  // namespace cuda_mapping

namespace cuda_runtime {

int device_count() noexcept { return 0; }
std::string device_name(int) { refuse(); }
void make_current(int) { refuse(); }
void make_current_quietly(int) noexcept {}
int current_device() { refuse(); }
int device_of(const void*) { refuse(); }
void* create_stream(int) { refuse(); }
void destroy_stream(void*) noexcept {}
void* create_event(int) { refuse(); }
void destroy_event(void*) noexcept {}
void record(void*, void*) { refuse(); }
void wait(void*, void*) { refuse(); }
void wait_here(void*) { refuse(); }
void* create_pool(int, int, int) { refuse(); }
void destroy_pool(void*) noexcept {}
void trim_pool(void*) noexcept {}
void* allocate(void*, void*, std::size_t) { refuse(); }
void deallocate(void*, void*) noexcept {}
void throw_out_of_memory(std::size_t, const std::string&) { refuse(); }
void* allocate_host(std::size_t) { refuse(); }
void deallocate_host(void*) noexcept {}
std::size_t free_bytes(void*) { refuse(); }
void synchronize(void*) { refuse(); }
void synchronize_quietly(void*) noexcept {}
void copy(void*, void*, const void*, std::size_t) { refuse(); }
void fill_zero(void*, void*, std::size_t) { refuse(); }

}  // namespace cuda_runtime
}  // namespace freeflow
