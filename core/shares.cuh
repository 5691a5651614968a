// Launches that several GPUs share (gpu_group.h). What is dealt out are slices, as of the memory. A
// kernel that can be shared takes the first of its slices, and the one behind its last; it is
// started once or, for each GPU, plane and band, for a part of them.
#pragma once

#include <algorithm>

#include <freeflow/core/dispatch.h>
#include <freeflow/core/gpu_group.h>
#include <freeflow/core/cuda_check.cuh>

namespace freeflow {

/// Slices [first, end), counted through all planes, for the stream of one GPU, which is the current
/// one.
struct Share {
  cudaStream_t stream;
  unsigned first, end;
  unsigned count() const { return end - first; }
};

/// A launch of so many blocks over planes of so many slices, which are gone through in bands (0: in
/// one). Every GPU takes the same part of every band.
struct Dealt {
  unsigned slices;
  std::size_t blocks;
  unsigned planes = 1, band = 0;
};

/// start(Share, gpu) queues the launch of a part; gpu counts from 0. The parts run side by side,
/// after what was queued before and before what is queued next.
template <class Start>
void for_each_share(backend::Cuda cuda, const Dealt& dealt, Start&& start) {
  const GpuGroup* const group = cuda.group;
  if (!group || dealt.blocks < group->least.blocks || dealt.slices < unsigned(group->size())) {
    start(Share{static_cast<cudaStream_t>(cuda.stream), 0, dealt.slices * dealt.planes}, 0);
    cuda_check(cudaGetLastError());
    return;
  }
  const unsigned gpus = unsigned(group->size()), band = dealt.band > 0 ? dealt.band : dealt.slices;
  GpuGroup::Shared shared(*group);
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    group->make_current(int(gpu));
    const auto stream = static_cast<cudaStream_t>(group->stream(int(gpu)));
    for (unsigned plane = 0; plane < dealt.planes; ++plane)
      for (unsigned begin = 0; begin < dealt.slices; begin += band) {
        const unsigned length = std::min(band, dealt.slices - begin),
                       first = plane * dealt.slices + begin,
                       low = unsigned(std::size_t(length) * gpu / gpus),
                       high = unsigned(std::size_t(length) * (gpu + 1) / gpus);
        if (high == low) continue;
        start(Share{stream, first + low, first + high}, int(gpu));
        cuda_check(cudaGetLastError());
      }
  }
  shared.join();
}

}  // namespace freeflow
