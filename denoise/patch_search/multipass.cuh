// Private: Lee's multipass search (section 3.1.2) over any source of the patches of a pass. One
// thread per element; its own patch and its m best live in shared memory and travel to global
// memory and back between passes. The stride of a thread's data is odd, so that the threads of a
// warp meet no bank twice while they compute distances.
#pragma once

#include <algorithm>

#include <freeflow/denoise/patch_search/distance_body.h>
#include <freeflow/denoise/patch_search/strategies.h>
#include <freeflow/core/cuda_check.cuh>
#include <freeflow/core/shared_memory.cuh>

namespace freeflow::multipass {

inline constexpr int threads = 32;
inline constexpr int constant_words = 16384;

/// Patches a pass compares: with its number each fills `length` + 1 words of 64 KiB.
inline int per_pass(const PatchView& p) { return std::max(1, constant_words / (p.length + 1)); }

FREEFLOW_HD int words_per_thread(int length, int neighbours) {
  return (length + 2 * neighbours) | 1;
}

template <class Source>
__global__ void __launch_bounds__(threads)
    pass_kernel(PatchView patches, int first, int rows, SimilarView found, int begin, int end,
                Source source) {
  extern __shared__ float shared[];
  const int row = blockIdx.x * threads + threadIdx.x;
  if (row >= rows) return;  // no barrier below: every thread minds its own words
  const int m = found.neighbours, length = patches.length;
  float* own = shared + threadIdx.x * words_per_thread(length, m);
  float* distance = own + length;
  int* index = reinterpret_cast<int*>(distance + m);
  const float* patch = patches.values + std::size_t(first + row) * patches.stride;
  for (int k = 0; k < length; ++k) own[k] = patch[k];
  const std::size_t list = std::size_t(row) * m;
  int filled = begin < m ? begin : m;
  for (int k = 0; k < filled; ++k) {
    distance[k] = found.distance[list + k];
    index[k] = found.index[list + k];
  }
  for (int j = begin; j < end; ++j) {
    PartialDistance d;
    const int base = source.row(j - begin);
    int k = 0;
    for (; k + PartialDistance::lanes <= length; k += PartialDistance::lanes)
#pragma unroll
      for (int l = 0; l < PartialDistance::lanes; ++l)
        d.add(l, own[k + l], source.value(base + k + l));
#pragma unroll
    for (int l = 0; l < PartialDistance::lanes; ++l)
      if (k + l < length) d.add(l, own[k + l], source.value(base + k + l));
    const float total = d.total();
    // Elements come by their index: an equal one stays behind those that are there.
    if (filled == m && !(total < distance[m - 1])) continue;
    int place = filled < m ? filled++ : m - 1;
    for (; place > 0 && distance[place - 1] > total; --place) {
      distance[place] = distance[place - 1];
      index[place] = index[place - 1];
    }
    distance[place] = total;
    index[place] = j;
  }
  for (int k = 0; k < filled; ++k) {
    found.distance[list + k] = distance[k];
    found.index[list + k] = index[k];
  }
}

/// source_of(begin, end) makes the patches of a pass ready and says how to read them.
template <class SourceOf>
void run(backend::Cuda cuda, const Search& s, const SourceOf& source_of) {
  const auto stream = static_cast<cudaStream_t>(cuda.stream);
  const int step = per_pass(s.patches), passes = (s.patches.count + step - 1) / step;
  const int bytes =
      int(sizeof(float)) * threads * words_per_thread(s.patches.length, s.found.neighbours);
  using Source = decltype(source_of(0, 0));
  allow_shared_memory(pass_kernel<Source>);
  const int blocks = (s.rows + threads - 1) / threads;
  const int report_every = std::max(1, passes / 50);
  for (int pass = 0; pass < passes; ++pass) {
    const int begin = pass * step, end = std::min(s.patches.count, begin + step);
    pass_kernel<<<blocks, threads, bytes, stream>>>(s.patches, s.first, s.rows, s.found, begin, end,
                                                    source_of(begin, end));
    cuda_check(cudaGetLastError());
    if ((pass + 1) % report_every != 0) continue;
    cuda_check(cudaStreamSynchronize(stream));
    s.report(double(pass + 1) / passes);
  }
}

inline bool runs_here() { return true; }

}  // namespace freeflow::multipass
