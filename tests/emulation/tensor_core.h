// What the tiled patch search says in machine code: copies to shared memory, ldmatrix and
// mma.m16n8k16 of halves with sums in float.
#pragma once

#include <cuda_fp16.h>

#include "cuda_language.h"

namespace emulation {

inline void copy_16_bytes(unsigned target, const void* source) {
  std::memcpy(dynamic_shared() + target, source, 16);
}

/// ldmatrix.x4: lane 8 m + r gives the address of row r of matrix m; lane l is given the halves 2
/// (l % 4) and the next of row l / 4 of each.
inline void load_matrices(unsigned (&f)[4], unsigned address) {
  const std::uint64_t* rows = exchange(~0u, address);
  for (unsigned m = 0; m < 4; ++m)
    std::memcpy(&f[m], dynamic_shared() + rows[8 * m + lane() / 4] + 4 * (lane() % 4), 4);
}

/// c += a b, with a 16 x 16, b 16 x 8, c 16 x 8; the layout of fragments is that of the PTX manual.
inline void multiply_16_8_16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  float whole_a[16][16], whole_b[16][8];
  const auto half_of = [](std::uint64_t word, int i) {
    return float(std::bit_cast<__half>(std::uint16_t(word >> 16 * i)));
  };
  for (int pair = 0; pair < 2; ++pair) {
    const std::uint64_t* taken = exchange(~0u, std::uint64_t(a[2 * pair + 1]) << 32 | a[2 * pair]);
    for (unsigned l = 0; l < 32; ++l)
      for (int i = 0; i < 2; ++i)
        for (int below = 0; below < 2; ++below)
          whole_a[l / 4 + 8 * below][l % 4 * 2 + i + 8 * pair] = half_of(taken[l] >> 32 * below, i);
  }
  const std::uint64_t* taken = exchange(~0u, std::uint64_t(b1) << 32 | b0);
  for (unsigned l = 0; l < 32; ++l)
    for (int i = 0; i < 2; ++i)
      for (int below = 0; below < 2; ++below)
        whole_b[l % 4 * 2 + i + 8 * below][l / 4] = half_of(taken[l] >> 32 * below, i);
  for (int i = 0; i < 4; ++i) {
    const unsigned row = lane() / 4 + i / 2 * 8, column = lane() % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) c[i] += whole_a[row][k] * whole_b[k][column];
  }
}

}  // namespace emulation
