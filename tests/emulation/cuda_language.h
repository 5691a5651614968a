// What nvcc knows of itself, for a C++ compiler: included before every translated kernel source.
#pragma once

#include <cuda_runtime_api.h>
#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "block.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__ static
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define threadIdx (::emulation::here().thread)
#define blockIdx (::emulation::here().block)
#define blockDim (::emulation::here().threads)
#define gridDim (::emulation::here().blocks)
#define __builtin_assume(condition) ((void)0)

struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) ushort4 {
  unsigned short x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}

inline void __syncthreads() { emulation::wait_for_block(); }
inline int __syncthreads_or(int value) { return emulation::wait_for_block(value != 0); }
inline void __syncwarp(unsigned mask = ~0u) { emulation::exchange(mask, 0); }

namespace emulation {
inline unsigned lane() { return here().index % 32; }
template <class T>
std::uint64_t word_of(T v) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t word = 0;
  std::memcpy(&word, &v, sizeof v);
  return word;
}
template <class T>
T value_of(std::uint64_t word) {
  T v;
  std::memcpy(&v, &word, sizeof v);
  return v;
}
/// Lane `from`'s value; its own where that lies beyond the warp.
template <class T>
T shuffled(unsigned mask, T v, unsigned from) {
  const std::uint64_t* taken = exchange(mask, word_of(v));
  if (from < 32 && !(mask >> from & 1)) throw from;  // reads a lane that does not take part
  return from < 32 ? value_of<T>(taken[from]) : v;
}
}  // namespace emulation

template <class T>
T __shfl_sync(unsigned mask, T v, int from) {
  return emulation::shuffled(mask, v, unsigned(from) % 32);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by) {
  return emulation::shuffled(mask, v, emulation::lane() + by);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by) {
  return emulation::shuffled(mask, v, emulation::lane() - by);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, unsigned by) {
  return emulation::shuffled(mask, v, emulation::lane() ^ by);
}
template <class T>
unsigned __match_any_sync(unsigned mask, T v) {
  const std::uint64_t* taken = emulation::exchange(mask, emulation::word_of(v));
  unsigned peers = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1 && taken[i] == emulation::word_of(v)) peers |= 1u << i;
  return peers;
}
template <class T>
unsigned __match_all_sync(unsigned mask, T v, int* all) {
  *all = __match_any_sync(mask, v) == mask;
  return *all ? mask : 0;
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  const std::uint64_t* taken = emulation::exchange(mask, value != 0);
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1 && taken[i]) votes |= 1u << i;
  return votes;
}
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, value) == mask; }
inline unsigned __reduce_add_sync(unsigned mask, unsigned v) {
  const std::uint64_t* taken = emulation::exchange(mask, v);
  unsigned sum = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1) sum += unsigned(taken[i]);
  return sum;
}

template <class T, class V>
T atomicAdd(T* at, V v) {
  const T before = *at;
  *at = T(before + T(v));
  return before;
}
template <class T, class V>
T atomicSub(T* at, V v) {
  const T before = *at;
  *at = T(before - T(v));
  return before;
}
template <class T, class V>
T atomicMin(T* at, V v) {
  const T before = *at;
  *at = std::min(before, T(v));
  return before;
}
template <class T, class V>
T atomicMax(T* at, V v) {
  const T before = *at;
  *at = std::max(before, T(v));
  return before;
}

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __ffs(unsigned v) { return v ? std::countr_zero(v) + 1 : 0; }
inline float __fadd_rd(float a, float b) {  // a sum of two floats is exact in double but for far
                                            // exponents, which do not matter here
  const double sum = double(a) + double(b);
  const float rounded = float(sum);
  return rounded > sum ? std::nextafterf(rounded, -INFINITY) : rounded;
}
inline float __double2float_ru(double v) {
  const float rounded = float(v);
  return rounded < v ? std::nextafterf(rounded, INFINITY) : rounded;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t both = std::uint64_t(b) << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) out |= unsigned(both >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
  return out;
}
inline unsigned __vabsdiffu4(unsigned a, unsigned b) {
  unsigned out = 0;
  for (int s = 0; s < 32; s += 8)
    out |= unsigned(std::abs(int(a >> s & 255) - int(b >> s & 255))) << s;
  return out;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int s = 0; s < 32; s += 8) c += (a >> s & 255) * (b >> s & 255);
  return c;
}
template <class T>
T tex1Dfetch(cudaTextureObject_t texture, int at) {
  return reinterpret_cast<const T*>(texture)[at];
}
inline std::size_t __cvta_generic_to_shared(const void* p) {
  return std::size_t(static_cast<const unsigned char*>(p) - emulation::dynamic_shared());
}
