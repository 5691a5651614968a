// Private: deterministic sums over the rows (along x) of a volume, several terms at once: 32 lanes
// stride through a row, then fold by halves, on every backend alike. For sums whose terms share
// their inputs; reduce.h reads once per term.
//
// A body has static constexpr int terms and void operator()(int x, std::size_t voxel, double
// (&v)[terms]) const.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/core/views.h>

namespace freeflow {

namespace reduction {
inline constexpr int row_lanes = 32;
}

/// sums[t * rows + row], rows = extent.y * extent.z. Does not wait.
template <class Body>
void reduce_rows(backend::Cuda, Extent extent, const Body& body, double* sums);

template <class Body>
void reduce_rows(backend::Cpu cpu, Extent extent, const Body& body, double* sums) {
  constexpr int lanes = reduction::row_lanes, terms = Body::terms;
  const std::ptrdiff_t rows = std::ptrdiff_t(extent.y) * extent.z;
#pragma omp parallel for schedule(static) num_threads(cpu.threads) if (extent.count() >= 8192)
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const Body local = body;
    double lane[terms][lanes] = {};
    for (int base = 0; base < extent.x; base += lanes) {
      const int n = extent.x - base < lanes ? extent.x - base : lanes;
#pragma GCC ivdep
      for (int i = 0; i < n; ++i) {
        double v[terms];
        local(base + i, std::size_t(row) * extent.x + base + i, v);
        for (int t = 0; t < terms; ++t) lane[t][i] += v[t];
      }
    }
    for (int t = 0; t < terms; ++t) {
      for (int half = lanes / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) lane[t][i] += lane[t][i + half];
      sums[t * rows + row] = lane[t][0];
    }
  }
}

template <class Body>
void reduce_rows(const Context& ctx, Extent extent, const Body& body, double* sums) {
  if (extent.count() == 0) return;
  backend::dispatch(ctx, [&](auto target) { reduce_rows(target, extent, body, sums); });
}

}  // namespace freeflow
