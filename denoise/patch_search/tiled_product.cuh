// Private to tiled.cu: a tile's products by tensor cores (from compute capability 8.0), 64 x 32 a
// warp by mma.m16n8k16, of halves that lie in shared memory where eight rows of a column meet eight
// banks.
#pragma once

#include <cuda_fp16.h>

#include <freeflow/denoise/patch_search/tiled_filter_body.h>

namespace freeflow {

namespace tiled {
constexpr int tile = 128, threads = 256, width = TiledFilter::width;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ unsigned shared_address(const void* p) {
  return unsigned(__cvta_generic_to_shared(p));
}

/// Where 16 bytes `chunk` of a row lie: chunks are exchanged within a row so that eight rows of a
/// column meet eight banks.
__device__ __forceinline__ unsigned swizzled(int row, int chunk) {
  return unsigned(row) * (width * 2) + ((unsigned(chunk) ^ (row & 7)) << 4);
}

__device__ __forceinline__ void load_tile(const __half* source, unsigned target) {
  for (int i = threadIdx.x; i < tile * width / 8; i += threads) {
    const int row = i / (width / 8), chunk = i % (width / 8);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(target + swizzled(row, chunk)),
                 "l"(source + std::size_t(row) * width + chunk * 8));
  }
}

__device__ __forceinline__ void load_fragments(unsigned (&f)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Products of this warp's 64 rows and 32 columns.
__device__ __forceinline__ void multiply_tile(unsigned rows, unsigned columns,
                                              float (&c)[4][4][4]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = (warp % 2) * 64 + lane % 16, column = (warp / 2) * 32 + lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int k = 0; k < 4; ++k) c[i][j][k] = 0;
#pragma unroll
  for (int step = 0; step < width / 16; ++step) {
    unsigned b[2][4];
#pragma unroll
    for (int j = 0; j < 2; ++j)
      load_fragments(b[j], columns + swizzled(column + 16 * j, 2 * step + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unsigned a[4];
      load_fragments(a, rows + swizzled(row + 16 * i, 2 * step + lane / 16));
#pragma unroll
      for (int j = 0; j < 4; ++j)
        multiply(c[i][j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}
#endif

}  // namespace tiled
}  // namespace freeflow
