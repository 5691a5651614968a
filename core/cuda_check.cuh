// Every CUDA call goes through cuda_check, which throws DeviceError with the place and the reason.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace freeflow {

[[noreturn]] void throw_cuda_error(cudaError_t error, const char* file, unsigned line);

inline void cuda_check(cudaError_t error,
                       std::source_location where = std::source_location::current()) {
  if (error != cudaSuccess) throw_cuda_error(error, where.file_name(), where.line());
}

}  // namespace freeflow
