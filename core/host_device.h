// The one macro of the library: marks a function that both compilers build, g++ for the CPU and
// nvcc for CUDA, into the loop that calls it; a call there would keep g++ from vectorising.
#pragma once

#ifdef __CUDACC__
#define FREEFLOW_HD __host__ __device__ __forceinline__
#else
#define FREEFLOW_HD __attribute__((always_inline)) inline
#endif
