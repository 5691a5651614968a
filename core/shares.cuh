// Launches that several GPUs share (gpu_group.h). A kernel that can be shared takes the number of
// its first block along the dimension that is dealt out, slices as a rule, and is started once or,
// for each GPU and plane, with a part of the grid.
#pragma once

#include <algorithm>

#include <freeflow/core/dispatch.h>
#include <freeflow/core/gpu_group.h>
#include <freeflow/core/cuda_check.cuh>

namespace freeflow {

/// Blocks [first, first + count) along the dimension that is dealt out, for the stream of one GPU,
/// which is the current one.
struct Share {
  cudaStream_t stream;
  unsigned first, count;
};

/// planes times length blocks along the dimension that is dealt out, how many blocks there are of
/// each such number, and how many numbers make a band (0: all of a plane). Every GPU takes the same
/// part of every band, as of the memory (Planes).
struct Dealt {
  unsigned length, others = 1, planes = 1, band = 0;
};

namespace detail {

/// Makes the group's first GPU current again at the end of the scope.
struct BackToFirst {
  const GpuGroup& group;
  ~BackToFirst() { group.make_first_current(); }
};

}  // namespace detail

/// start(Share, gpu) queues a launch of a part of the blocks; gpu counts from 0. The parts run side
/// by side, after what was queued before and before what is queued next.
template <class Start>
void for_each_share(backend::Cuda cuda, const Dealt& dealt, Start&& start) {
  const GpuGroup* const group = cuda.group;
  const std::size_t blocks = std::size_t(dealt.length) * dealt.others * dealt.planes;
  if (!group || blocks < group->least.blocks || dealt.length < unsigned(group->size())) {
    start(Share{static_cast<cudaStream_t>(cuda.stream), 0, dealt.length * dealt.planes}, 0);
    cuda_check(cudaGetLastError());
    return;
  }
  const unsigned gpus = unsigned(group->size()), band = dealt.band > 0 ? dealt.band : dealt.length;
  group->fork();
  {
    const detail::BackToFirst at_end{*group};
    for (int gpu = 0; gpu < group->size(); ++gpu) {
      group->make_current(gpu);
      const auto stream = static_cast<cudaStream_t>(group->stream(gpu));
      for (unsigned plane = 0; plane < dealt.planes; ++plane)
        for (unsigned begin = 0; begin < dealt.length; begin += band) {
          const unsigned length = std::min(band, dealt.length - begin),
                         low = unsigned(std::size_t(length) * unsigned(gpu) / gpus),
                         high = unsigned(std::size_t(length) * unsigned(gpu + 1) / gpus);
          if (high == low) continue;
          start(Share{stream, plane * dealt.length + begin + low, high - low}, gpu);
          cuda_check(cudaGetLastError());
        }
    }
  }
  group->join();
}

}  // namespace freeflow
