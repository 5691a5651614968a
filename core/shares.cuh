// Launches that several GPUs share (gpu_group.h). What is dealt out are slices, as of the memory. A
// kernel that can be shared takes the first of its slices, and the one behind its last; it is
// started once or, for each GPU and plane, for a part of them.
#pragma once

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

/// A body whose slices are those of several planes in turn says so, static constexpr unsigned
/// stacked_planes = 3: every GPU then takes its part of each.
template <class Body>
constexpr unsigned planes_of_slices = 1;
template <class Body>
requires(Body::stacked_planes > 0) constexpr unsigned planes_of_slices<Body> = Body::stacked_planes;

/// A launch of so many blocks over so many slices, of all planes together. Every GPU takes the same
/// part of every plane.
struct Dealt {
  unsigned slices;
  std::size_t blocks;
  unsigned planes = 1;
};

/// start(Share, gpu) queues the launch of a part; gpu counts from 0. The parts run side by side,
/// after what was queued before and before what is queued next.
template <class Start>
void for_each_share(backend::Cuda cuda, const Dealt& dealt, Start&& start) {
  const GpuGroup* const group = cuda.group;
  if (!group || dealt.blocks < group->least.blocks ||
      dealt.slices < unsigned(group->size()) * dealt.planes) {
    start(Share{static_cast<cudaStream_t>(cuda.stream), 0, dealt.slices}, 0);
    cuda_check(cudaGetLastError());
    return;
  }
  GpuGroup::Shared shared(*group);
  for (int gpu = 0; gpu < group->size(); ++gpu) {
    group->make_current(gpu);
    const auto stream = static_cast<cudaStream_t>(group->stream(gpu));
    for (unsigned plane = 0; plane < dealt.planes; ++plane) {
      const auto border = [&](unsigned of_plane) {
        return first_slice(int(dealt.slices), int(of_plane), int(dealt.planes));
      };
      const int begin = border(plane), slices = border(plane + 1) - begin;
      start(Share{stream, unsigned(begin + first_slice(slices, gpu, group->size())),
                  unsigned(begin + first_slice(slices, gpu + 1, group->size()))},
            gpu);
      cuda_check(cudaGetLastError());
    }
  }
  shared.join();
}

}  // namespace freeflow
