// Compiled where CUDA is; elsewhere no_process_state.cpp stands in.
#include <cuda_runtime_api.h>

#include "core/process_state.h"

namespace freeflow::test {

ProcessState process_state(const Device& device) {
  ProcessState state;
  if (!device.is_cuda()) return state;
  cudaGetDevice(&state.current_device);
  cudaMemPool_t pool;
  cudaDeviceGetDefaultMemPool(&pool, device.index);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &state.default_pool_keeps);
  return state;
}

}  // namespace freeflow::test
