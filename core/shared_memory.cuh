// How much dynamic shared memory a launch may ask for, on which CUDA asks for a word beforehand.
#pragma once

#include <freeflow/core/cuda_check.cuh>

namespace freeflow {

/// Lets `kernel` be launched with all the dynamic shared memory that a block of the current device
/// can have. The limit is a property of the function, not of a launch: were it set to the bytes of
/// one launch, another thread's smaller launch could lower it between the setting and the
/// launching. A launch that asks for more fails with "invalid argument".
template <class... Arguments>
void allow_shared_memory(void (*kernel)(Arguments...)) {
  const auto function = reinterpret_cast<const void*>(kernel);
  int device = 0, most = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  cudaFuncAttributes attributes{};
  cuda_check(cudaFuncGetAttributes(&attributes, function));
  const int dynamic = most - int(attributes.sharedSizeBytes);
  if (attributes.maxDynamicSharedSizeBytes < dynamic)
    cuda_check(
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic));
}

}  // namespace freeflow
