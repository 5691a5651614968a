// Private: the kernel of the three schemes in shared memory. Counters are 32 bits: N_i and S_i, or,
// where masses go beyond 1, N_i and S_i in two halves of 16 bits. A histogram takes at most 65408
// voxels before it is flushed, so none overflows.
#pragma once

#include <freeflow/core/shared_memory.cuh>
#include <freeflow/similarity/ratio_histogram/job.cuh>

namespace freeflow::ratio {

template <bool wide>
struct SharedCounters {
  static constexpr int words = wide ? 3 : 2;  // per bin
  unsigned* data;
  int bins;

  template <class Sum>
  __device__ void add(int bin, std::uint32_t mass, Sum sum) const {
    atomicAdd(data + bin, mass);
    if constexpr (wide) {
      atomicAdd(data + bins + bin, unsigned(sum & 0xFFFF));
      atomicAdd(data + 2 * bins + bin, unsigned(sum >> 16));
    } else {
      if (sum) atomicAdd(data + bins + bin, unsigned(sum));
    }
  }
  __device__ std::uint64_t sum(int bin) const {
    if constexpr (wide)
      return (std::uint64_t(data[2 * bins + bin]) << 16) + data[bins + bin];
    else
      return data[bins + bin];
  }
};

/// Adds the histograms of `copies` to where the scheme wants them: flush(bin, N_i, S_i).
template <bool wide, class Flush>
__device__ void flush_shared(unsigned* data, int bins, int copies, Flush&& flush) {
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    unsigned long long n = 0, s = 0;
    for (int c = 0; c < copies; ++c) {
      const SharedCounters<wide> counters{data + c * SharedCounters<wide>::words * bins, bins};
      n += counters.data[bin];
      s += counters.sum(bin);
    }
    flush(bin, n, s);
  }
}

/// `copies`: histograms of a block, 1 or one per warp. partial: null, or 2 * bins words per block
/// for the merging kernel.
template <class Voxel>
__global__ void __launch_bounds__(1024)
    shared_kernel(Job<Voxel> job, int copies, unsigned per_block, unsigned long long* partial) {
  extern __shared__ unsigned data[];
  constexpr bool wide = Voxel::wide;
  job.choose_candidate();
  const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32, bins = job.bins;
  const SharedCounters<wide> mine{
      data + (copies > 1 ? warp : 0) * SharedCounters<wide>::words * bins, int(bins)};
  const unsigned begin = blockIdx.x * per_block, end = min(job.pieces.count, begin + per_block);
  unsigned long long* const block_partial =
      partial ? partial + (std::size_t(blockIdx.y) * gridDim.x + blockIdx.x) * 2 * bins : nullptr;
  Square<wide> square;
  for (unsigned first = begin; first == begin || first < end; first += most_pieces) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < copies * SharedCounters<wide>::words * bins; i += blockDim.x)
      data[i] = 0;
    __syncthreads();
    const unsigned last = min(end, first + most_pieces);
    for (unsigned piece = first + warp; piece < last; piece += warps)
      job.for_piece(piece, [&](const RatioVoxel<Voxel::taps>& v) {
        square.add(v.total(), v.y);
        add_warp<wide>(mine, v);
      });
    flush_shared<wide>(
        data, int(bins), copies, [&](int bin, unsigned long long n, unsigned long long s) {
          if (partial) {
            block_partial[bin] = first == begin ? n : block_partial[bin] + n;
            block_partial[bins + bin] = first == begin ? s : block_partial[bins + bin] + s;
          } else if (n) {
            atomicAdd(job.count(bin), n);
            if (s) atomicAdd(job.sum(bin), s);
          }
        });
  }
  add_block_square(square, job.square());
}

template <class Voxel>
void launch_shared(backend::Cuda cuda, const RatioPlan& plan, const Job<Voxel>& job, int candidates,
                   bool per_warp, unsigned long long* partial) {
  const int copies = per_warp ? plan.launch.threads / 32 : 1;
  const int bytes =
      copies * SharedCounters<Voxel::wide>::words * plan.shape.bins * int(sizeof(unsigned));
  allow_shared_memory(shared_kernel<Voxel>);
  const unsigned per_block = (job.pieces.count + plan.launch.blocks - 1) / plan.launch.blocks;
  shared_kernel<<<dim3(plan.launch.blocks, candidates), plan.launch.threads, bytes,
                  stream_of(cuda)>>>(job, copies, per_block, partial);
  cuda_check(cudaGetLastError());
}

}  // namespace freeflow::ratio
