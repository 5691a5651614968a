// All distances by tensor cores, and nothing of size count x count. A block of 256 threads keeps
// 128 elements ("rows") as halves in shared memory and streams all patches ("columns") past them in
// tiles of 128, double buffered. Each warp multiplies 64 x 32 of a tile by mma.m16n8k16. A product
// that could still belong to the m best of its row (tiled_filter_body.h) puts its column into the
// row's buffer; once 64 wait, warps compute the exact distances of 32 at a time and merge what is
// good into the row's sorted list, spread over the lanes. One tile in eight comes first, so that
// the bounds are low before most columns are looked at.
#include <cuda_fp16.h>

#include <algorithm>

#include <freeflow/denoise/patch_search/distance_body.h>
#include <freeflow/denoise/patch_search/strategies.h>
#include <freeflow/denoise/patch_search/tiled_filter_body.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/shared_memory.cuh>
#include <freeflow/denoise/patch_search/sorted_list.cuh>
#include <freeflow/denoise/patch_search/tiled_product.cuh>

namespace freeflow {

namespace {

using namespace tiled;
constexpr int full = 64;  // once a row's buffer holds so many, all that hold half are merged
constexpr int capacity = tile + full;  // before the merge a tile adds up to 128
constexpr int tile_bytes = tile * width * int(sizeof(__half));
constexpr int shared_bytes = 3 * tile_bytes + tile * int(sizeof(float) + sizeof(int)) + 16;

/// What is computed of every patch once.
struct Prepared {
  __half* half;   // padded_count x width
  float* norm;    // |a^|^2, infinity for the padding
  float* error;   // e(a)
  float4* lined;  // the values in lines of 32: of line l, float4 j holds values 8 (4 l + 0, 1, 2,
                  // 3) + j
  int lines;      // of a patch
  unsigned* maxima;  // bits of the largest norm and error
};

struct Job {
  PatchView patches;
  Prepared prepared;
  int tiles;  // of columns
  int first, rows_each;
  SimilarView found;
  CandidateKey* keys;  // per block: tile lists of 32 * slots
  int* buffers;        // per block: tile buffers of `capacity` columns
};

int padded(int count) { return (count + tile - 1) / tile * tile; }

/// One warp per patch.
__global__ void __launch_bounds__(threads)
    prepare_kernel(PatchView patches, TiledFilter filter, int padded_count, Prepared out) {
  const int i = (blockIdx.x * threads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= padded_count) return;
  const bool real = i < patches.count;
  const float* patch = patches.values + std::size_t(i) * patches.stride;
  auto* lined = reinterpret_cast<float*>(out.lined + std::size_t(i) * out.lines * 8);
  if (real)
    for (int k = lane; k < out.lines * 32; k += 32) {
      const int from = 8 * (k / 32 * 4 + k % 4) + k % 32 / 4;
      lined[k] = from < patches.stride ? patch[from] : 0.0f;
    }
  double norm = 0, error = 0;
  for (int k = lane; k < width; k += 32) {
    const double value = real ? filter.projected(patch, patches.length, k) : 0;
    const __half rounded = __float2half_rn(float(value));
    out.half[std::size_t(i) * width + k] = rounded;
    const double h = __half2float(rounded), d = value - h;
    norm += h * h;
    error += d * d;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    norm += __shfl_down_sync(whole_warp, norm, offset);
    error += __shfl_down_sync(whole_warp, error, offset);
  }
  if (lane != 0) return;
  out.norm[i] = real ? float(norm) : INFINITY;
  out.error[i] = __double2float_ru(sqrt(error));
  if (!real) return;
  atomicMax(out.maxima, __float_as_uint(out.norm[i]));
  atomicMax(out.maxima + 1, __float_as_uint(out.error[i]));
}

// The rest of the kernel says what code for older GPUs cannot; runs_here() keeps the search away
// from them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
constexpr int sample = 8;  // one tile in so many comes first
constexpr int many = 6;    // candidates at once that are sorted in, not inserted one by one
constexpr int worthwhile = full / 2;  // what a row's buffer must hold to be merged with a full one

/// Puts the columns that pass into their rows' buffers; says whether one is full.
__device__ __forceinline__ bool collect(const float (&c)[4][4][4], const float* norm, int column0,
                                        const float* cutoff, int* waiting, int* buffers) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = (warp % 2) * 64 + lane / 4;
  column0 += (warp / 2) * 32 + lane % 4 * 2;
  float2 n[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) n[j] = __ldg(reinterpret_cast<const float2*>(norm + column0 + 8 * j));
  bool any_full = false;
#pragma unroll
  for (int i = 0; i < 8;
       ++i) {  // c[i / 2][j][2 * (i % 2) + k] is row 16 (i / 2) + 8 (i % 2), column 8 j + k
    const int row = row0 + 8 * i;
    const float limit = cutoff[row];
    float value[8], least = INFINITY;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      value[2 * j] = fmaf(-2.0f, c[i / 2][j][2 * (i % 2)], n[j].x);
      value[2 * j + 1] = fmaf(-2.0f, c[i / 2][j][2 * (i % 2) + 1], n[j].y);
      least = fminf(least, fminf(value[2 * j], value[2 * j + 1]));
    }
    if (!(least <= limit)) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (value[j] <= limit) {
        const int place = atomicAdd(waiting + row, 1);
        buffers[row * capacity + place] = column0 + 8 * (j / 2) + j % 2;
        any_full |= place + 1 >= full;
      }
  }
  return any_full;
}

/// The distances of a row's patch to those of 32 columns, a lane each: eight lanes read a patch
/// together, a partial sum each, and a line of 128 bytes at a time, where a lane of its own would
/// touch a line per 16 bytes.
__device__ __forceinline__ float exact_distances(const Prepared& p, int row, int column) {
  const int lane = threadIdx.x % 32, part = lane % 8, owner = lane / 8;
  const float4* a = p.lined + std::size_t(row) * p.lines * 8 + part;
  const float4* b[8];
  float sum[8] = {};
#pragma unroll
  for (int g = 0; g < 8; ++g)
    b[g] =
        p.lined + std::size_t(__shfl_sync(whole_warp, column, 4 * g + owner)) * p.lines * 8 + part;
  for (int line = 0; line < p.lines; ++line) {
    const float4 u = __ldg(a + 8 * line);
    float4 v[8];
#pragma unroll
    for (int g = 0; g < 8; ++g) v[g] = __ldg(b[g] + 8 * line);
#pragma unroll
    for (int g = 0; g < 8; ++g) {
      PartialDistance::add(sum[g], u.x, v[g].x);
      PartialDistance::add(sum[g], u.y, v[g].y);
      PartialDistance::add(sum[g], u.z, v[g].z);
      PartialDistance::add(sum[g], u.w, v[g].w);
    }
  }
  float mine = 0;
#pragma unroll
  for (int g = 0; g < 8; ++g) {
#pragma unroll
    for (int half = 4; half > 0; half /= 2)
      sum[g] += __shfl_xor_sync(whole_warp, sum[g], half);  // as PartialDistance::total
    const float total = __shfl_sync(whole_warp, sum[g], 8 * (lane % 4));
    if (lane / 4 == g) mine = total;
  }
  return mine;
}

/// One warp merges the buffer of a row into its list and lowers its cutoff. done_before: every
/// column that is still to come has at least this number, or 0 when that cannot be said.
template <int slots>
__device__ void merge(const Job& job, int row, CandidateKey* list, const int* buffer, int count,
                      int done_before, float* cutoff) {
  const int lane = threadIdx.x % 32, m = job.found.neighbours;
  CandidateKey key[slots];
#pragma unroll
  for (int s = 0; s < slots; ++s) key[s] = list[32 * s + lane];
  const auto worst = [&] {
    CandidateKey k = no_candidate;
#pragma unroll
    for (int s = 0; s < slots; ++s)
      if (s == (m - 1) / 32) k = __shfl_sync(whole_warp, key[s], (m - 1) % 32);
    return k;
  };
  CandidateKey bound = worst();
  for (int base = 0; base < count; base += 32) {
    const int column = base + lane < count ? buffer[base + lane] : row;
    const float distance = exact_distances(job.prepared, row, column);
    const CandidateKey mine = base + lane < count ? candidate_key(distance, column) : no_candidate;
    unsigned good = __ballot_sync(whole_warp, mine < bound);
    if (__popc(good) > many) {
      insert_all<slots>(key, mine);
      bound = worst();
      continue;
    }
    while (good) {
      const CandidateKey candidate = __shfl_sync(whole_warp, mine, __ffs(good) - 1);
      good &= good - 1;
      if (candidate >= bound) continue;
      insert<slots>(key, candidate);
      bound = worst();
    }
  }
#pragma unroll
  for (int s = 0; s < slots; ++s) list[32 * s + lane] = key[s];
  if (lane != 0 || bound == no_candidate) return;
  const float distance = key_distance(bound);
  const float max_norm = __uint_as_float(job.prepared.maxima[0]),
              max_error = __uint_as_float(job.prepared.maxima[1]);
  // Nothing with a larger number comes before a distance of zero: in flat regions thousands of
  // patches are equal.
  *cutoff = distance == 0 && key_index(bound) < done_before
                ? -INFINITY
                : TiledFilter::cutoff(distance, job.prepared.norm[row], job.prepared.error[row],
                                      max_norm, max_error, TiledFilter::half_product);
}

/// The order of the tiles: every eighth, then the others.
__device__ __forceinline__ int tile_at(int step, int tiles) {
  const int first = (tiles + sample - 1) / sample;
  if (step < first) return sample * step;
  const int rest = step - first;
  return rest / (sample - 1) * sample + 1 + rest % (sample - 1);
}

/// All columns against the rows [row0, rows_end), 128 at most.
template <int slots>
__device__ void search_rows(const Job& job, int row0, int rows_end, unsigned char* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned rows_at = shared_address(shared), columns_at = rows_at + tile_bytes;
  auto* cutoff = reinterpret_cast<float*>(shared + 3 * tile_bytes);
  auto* waiting = reinterpret_cast<int*>(cutoff + tile);
  CandidateKey* lists = job.keys + std::size_t(blockIdx.x) * tile * (32 * slots);
  int* buffers = job.buffers + std::size_t(blockIdx.x) * tile * capacity;
  for (int i = threadIdx.x; i < tile * 32 * slots; i += threads) lists[i] = no_candidate;
  for (int i = threadIdx.x; i < tile; i += threads) {
    cutoff[i] = row0 + i < rows_end ? 3e38f : -INFINITY;
    waiting[i] = 0;
  }
  // Rows that begin between tiles are loaded past the padded end as the last ones, and never looked
  // at.
  for (int i = threadIdx.x; i < tile * width / 8; i += threads) {
    const int row = i / (width / 8), chunk = i % (width / 8);
    const int source = min(row0 + row, rows_end - 1);
    *reinterpret_cast<uint4*>(shared + swizzled(row, chunk)) = *reinterpret_cast<const uint4*>(
        job.prepared.half + std::size_t(source) * width + chunk * 8);
  }
  load_tile(job.prepared.half + std::size_t(tile_at(0, job.tiles)) * tile * width, columns_at);
  asm volatile("cp.async.commit_group;\n" ::);
  for (int step = 0; step < job.tiles; ++step) {
    const int current = tile_at(step, job.tiles);
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();  // the tile is there; the other buffer, the lists and the cutoffs are no
                      // longer in use
    if (step + 1 < job.tiles)
      load_tile(job.prepared.half + std::size_t(tile_at(step + 1, job.tiles)) * tile * width,
                columns_at + ((step + 1) % 2) * tile_bytes);
    asm volatile("cp.async.commit_group;\n" ::);
    float c[4][4][4];
    multiply_tile(rows_at, columns_at + (step % 2) * tile_bytes, c);
    const bool last = step + 1 == job.tiles;
    const bool any_full = collect(c, job.prepared.norm, current * tile, cutoff, waiting, buffers);
    if (!__syncthreads_or(any_full || last)) continue;
    const bool in_order = step >= (job.tiles + sample - 1) / sample;
    for (int row = warp; row < tile; row += threads / 32) {
      const int count = waiting[row];
      if (count < worthwhile && !(last && count > 0)) continue;
      const int kept = last ? 0 : count % 32;  // whole warps of candidates only
      merge<slots>(job, row0 + row, lists + row * (32 * slots), buffers + row * capacity + kept,
                   count - kept, in_order ? (current + 1) * tile : 0, cutoff + row);
      __syncwarp();
      if (lane == 0) waiting[row] = kept;
    }
  }
  __syncthreads();
  const int m = job.found.neighbours;
  for (int row = warp; row < tile && row0 + row < rows_end; row += threads / 32)
    for (int k = lane; k < m; k += 32) {
      const CandidateKey key = lists[row * (32 * slots) + k];
      const std::size_t at = std::size_t(row0 + row - job.first) * m + k;
      job.found.index[at] = key_index(key);
      job.found.distance[at] = key_distance(key);
    }
  __syncthreads();
}
#endif

template <int slots>
__global__ void __launch_bounds__(threads, 2) search_kernel(Job job, int row_begin, int row_end) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) unsigned char shared[];
  for (int row0 = row_begin + blockIdx.x * job.rows_each; row0 < row_end;
       row0 += gridDim.x * job.rows_each)
    search_rows<slots>(job, row0, min(row0 + job.rows_each, row_end), shared);
#endif
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

int blocks_at_once() { return 2 * attribute(cudaDevAttrMultiProcessorCount); }

bool runs_here() {
  return attribute(cudaDevAttrComputeCapabilityMajor) >= 8 &&
         attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= shared_bytes;
}

int slots_for(int neighbours) { return neighbours <= 96 ? 3 : 8; }

int lines_of(const PatchView& p) { return (p.stride + 31) / 32; }

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// How the rows are shared out: as many rounds of all blocks as it takes, and no round with blocks
/// left over. What costs is the rows' lists, not that a tile of products is not full.
struct Share {
  int blocks, rows_each;
  explicit Share(int rows) {
    const int most = blocks_at_once(), rounds = (rows + most * tile - 1) / (most * tile);
    rows_each = (rows + most * rounds - 1) / (most * rounds);
    blocks = std::min(most, (rows + rows_each - 1) / rows_each);
  }
};

/// The parts of the scratch, in order.
struct Layout {
  std::size_t half, norm, error, lined, maxima, keys, buffers, end;
  Layout(const PatchView& p, int rows, int neighbours) {
    const std::size_t n = std::size_t(padded(p.count));
    const std::size_t blocks = std::size_t(Share(rows).blocks);
    half = 0;
    norm = half + aligned(n * width * sizeof(__half));
    error = norm + aligned(n * sizeof(float));
    lined = error + aligned(n * sizeof(float));
    maxima = lined + aligned(std::size_t(p.count) * lines_of(p) * 32 * sizeof(float));
    keys = maxima + aligned(2 * sizeof(unsigned));
    buffers = keys + aligned(blocks * tile * 32 * std::size_t(slots_for(neighbours)) *
                             sizeof(CandidateKey));
    end = buffers + aligned(blocks * tile * capacity * sizeof(int));
  }
};

std::size_t scratch_bytes(const PatchView& p, int rows, int neighbours) {
  return Layout(p, rows, neighbours).end;
}

template <int slots>
void launch(const Search& s, const Job& job, cudaStream_t stream) {
  allow_shared_memory(search_kernel<slots>);
  const int blocks = Share(s.rows).blocks, per_pass = blocks * job.rows_each * 16;
  const int end = s.first + s.rows;
  for (int begin = s.first; begin < end;) {
    const int next = end - begin > per_pass ? begin + per_pass : end;
    search_kernel<slots><<<blocks, threads, shared_bytes, stream>>>(job, begin, next);
    cuda_check(cudaGetLastError());
    begin = next;
    if (begin == end) break;
    cuda_check(cudaStreamSynchronize(stream));
    s.report(double(begin - s.first) / s.rows);
  }
}

void run(backend::Cuda cuda, const Search& s) {
  const auto stream = static_cast<cudaStream_t>(cuda.stream);
  const Layout at(s.patches, s.rows, s.found.neighbours);
  const Prepared prepared{reinterpret_cast<__half*>(s.scratch + at.half),
                          reinterpret_cast<float*>(s.scratch + at.norm),
                          reinterpret_cast<float*>(s.scratch + at.error),
                          reinterpret_cast<float4*>(s.scratch + at.lined),
                          lines_of(s.patches),
                          reinterpret_cast<unsigned*>(s.scratch + at.maxima)};
  const int n = padded(s.patches.count);
  cuda_check(cudaMemsetAsync(prepared.maxima, 0, 2 * sizeof(unsigned), stream));
  prepare_kernel<<<n / (threads / 32), threads, 0, stream>>>(
      s.patches, TiledFilter::of_length(s.patches.length), n, prepared);
  cuda_check(cudaGetLastError());
  const Job job{s.patches,
                prepared,
                n / tile,
                s.first,
                Share(s.rows).rows_each,
                s.found,
                reinterpret_cast<CandidateKey*>(s.scratch + at.keys),
                reinterpret_cast<int*>(s.scratch + at.buffers)};
  if (slots_for(s.found.neighbours) == 3)
    launch<3>(s, job, stream);
  else
    launch<8>(s, job, stream);
}

}  // namespace

const CudaSearch tiled_search{runs_here, scratch_bytes, run};

}  // namespace freeflow
