// Stands in for cuda_runtime.cpp in a build without CUDA: there is no device, so nothing else is
// ever called.
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow::cuda_runtime {

namespace {
[[noreturn]] void refuse() { throw DeviceError("this build has no CUDA"); }
}  // namespace

int device_count() noexcept { return 0; }
std::string device_name(int) { refuse(); }
void make_current(int) { refuse(); }
int current_device() { refuse(); }
int device_of(const void*) { refuse(); }
void* create_stream(int) { refuse(); }
void destroy_stream(void*) noexcept {}
void* create_pool(int) { refuse(); }
void destroy_pool(void*) noexcept {}
void* allocate(void*, void*, std::size_t) { refuse(); }
void deallocate(void*, void*) noexcept {}
void* allocate_host(std::size_t) { refuse(); }
void deallocate_host(void*) noexcept {}
std::size_t free_bytes(void*) { refuse(); }
void synchronize(void*) { refuse(); }
void copy(void*, void*, const void*, std::size_t) { refuse(); }
void fill_zero(void*, void*, std::size_t) { refuse(); }

}  // namespace freeflow::cuda_runtime
