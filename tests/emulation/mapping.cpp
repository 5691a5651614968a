// Memory over several emulated GPUs: host memory, of which all of them read and write everything.
#include <freeflow/core/cuda_mapping.h>
#include <freeflow/core/cuda_check.cuh>

#include <cuda_runtime_api.h>

namespace freeflow::cuda_mapping {

namespace {
/// A pool that is never destroyed: contexts with static lifetime free later.
cudaMemPool_t pool() {
  static const cudaMemPool_t all = [] {
    cudaMemPool_t made = nullptr;
    cudaMemPoolCreate(&made, nullptr);
    return made;
  }();
  return all;
}
}  // namespace

void connect(const Device&) {}
std::size_t page_bytes(const Device&) { return 512; }

void* map(const Device&, const std::vector<Stripe>& stripes) {
  std::size_t bytes = 0;
  for (const Stripe& s : stripes) bytes += s.bytes;
  void* pointer = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(&pointer, bytes, pool(), nullptr);
  if (error != cudaErrorMemoryAllocation) cuda_check(error);
  return pointer;
}

void unmap(void* pointer, const std::vector<Stripe>&) noexcept { cudaFreeAsync(pointer, nullptr); }

}  // namespace freeflow::cuda_mapping
