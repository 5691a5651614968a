// Runs a body once per voxel. The body is a struct of plain views and numbers, trivially copyable,
// with a
//   FREEFLOW_HD void operator()(int x, int y, int z) const
// and no threads in it (host_device.h); calls may come in any order and at the same time. The CUDA
// side is defined in for_each_voxel.cuh: a file that nvcc builds includes that and runs its bodies
// on both; a file built by a C++ compiler runs them on the CPU, and says so when it is given a GPU
// (dispatch.h).
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/core/views.h>

namespace freeflow {

template <class Body>
void for_each_voxel(backend::Cuda, Extent extent, const Body& body);

template <class Body>
void for_each_voxel(backend::Cpu cpu, Extent extent, const Body& body) {
  constexpr int longest = 4096;  // a long row is cut, so that one row can occupy all threads
  const int pieces = (extent.x + longest - 1) / longest;
  const std::ptrdiff_t tasks = std::ptrdiff_t(pieces) * extent.y * extent.z;
  // below, waking them costs more than they save
  const bool worth_threads = extent.count() >= 8192;
  const std::ptrdiff_t share = tasks / (16 * cpu.threads) +
                               1;  // small enough that a core lent to others does not hold up all
#pragma omp parallel for schedule(dynamic, share) num_threads(cpu.threads) if (worth_threads)
  for (std::ptrdiff_t task = 0; task < tasks; ++task) {
    const Body local = body;
    const int row = int(task / pieces), y = row % extent.y, z = row / extent.y;
    const int begin = int(task % pieces) * longest,
              end = begin + longest < extent.x ? begin + longest : extent.x;
#pragma GCC ivdep
    for (int x = begin; x < end; ++x) local(x, y, z);
  }
}

/// Runs body(x, y, z) for every voxel of `extent` on the device of ctx. Does not wait.
template <class Body>
void for_each_voxel(const Context& ctx, Extent extent, const Body& body) {
  if (extent.count() == 0) return;
  backend::dispatch(ctx, [&](auto target) { for_each_voxel(target, extent, body); });
}

}  // namespace freeflow
