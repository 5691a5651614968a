// Deterministic reductions. A tree of fixed shape in double: chunks of 4096 elements, in each 256
// lanes that stride through the chunk, then halving; the chunks' results once more the same way.
// Every backend and every number of threads walks the same tree, so the bits are the same. Cost:
// one read of the input.
//
// A body has double operator()(std::size_t i, int term) const and static double combine(double,
// double) with neutral element 0 (sums; maxima of non-negative values). All terms of a body are
// reduced in one launch. Where they read the same elements, the body says how many they are at
// most, static constexpr int together = 16: a GPU then reads an element once for all of them, and
// calls it for all, also where fewer are asked for. As for_each_voxel, a file that nvcc builds
// reduces its own bodies on both devices (reduce.cuh), one built by a C++ compiler on the CPU.
#pragma once

#include <algorithm>

#include <freeflow/core/buffer.h>
#include <freeflow/core/dispatch.h>
#include <freeflow/core/views.h>

namespace freeflow {

namespace reduction {
inline constexpr int lanes = 256;
inline constexpr int per_lane = 16;
inline constexpr int chunk = lanes * per_lane;
inline int chunks(std::size_t count) { return int((count + chunk - 1) / chunk); }

/// One node of Body's tree: 256 lanes stride through elements [begin, end), then fold by halves.
/// Body::combine is called by name: through a pointer a compiler that hardly optimises cannot
/// inline it.
template <class Body, class Element>
double fold_on_cpu(std::size_t begin, std::size_t end, const Element& element) {
  double lane[lanes] = {};
  for (std::size_t base = begin; base < end; base += lanes) {
    const int n = int(std::min<std::size_t>(lanes, end - base));
    for (int i = 0; i < n; ++i) lane[i] = Body::combine(lane[i], element(base + i));
  }
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = Body::combine(lane[i], lane[i + half]);
  return lane[0];
}
}  // namespace reduction

/// Body that sums: derive from it and add operator().
struct SumBody {
  static FREEFLOW_HD double combine(double a, double b) { return a + b; }
};

/// Body that takes the largest of non-negative values.
struct MaxBody {
  static FREEFLOW_HD double combine(double a, double b) { return a < b ? b : a; }
};

/// Scratch for reductions of at most max_count elements and max_terms terms.
class ReduceWorkspace {
 public:
  ReduceWorkspace() = default;
  ReduceWorkspace(Context& ctx, std::size_t max_count, int max_terms)
      : partial_(ctx, std::size_t(reduction::chunks(max_count)) * max_terms) {}
  double* partial() const { return partial_.data(); }

 private:
  Buffer<double> partial_;
};

template <class Body>
void reduce(backend::Cuda, std::size_t count, int terms, const Body& body, double* partial,
            double* result);

template <class Body>
void reduce(backend::Cpu cpu, std::size_t count, int terms, const Body& body, double* partial,
            double* result) {
  const int chunks = reduction::chunks(count);
  // The terms of a chunk follow each other: what they share is in the cache then.
#pragma omp parallel for collapse(2) schedule(dynamic, std::max(8, terms)) \
    num_threads(cpu.threads) if (terms * chunks >= 8)
  for (int c = 0; c < chunks; ++c)
    for (int term = 0; term < terms; ++term) {
      const Body local = body;
      const std::size_t begin = std::size_t(c) * reduction::chunk;
      partial[std::size_t(term) * chunks + c] =
          reduction::fold_on_cpu<Body>(begin, std::min(count, begin + reduction::chunk),
                                       [&](std::size_t i) { return local(i, term); });
    }
  for (int term = 0; term < terms; ++term) {
    const double* p = partial + std::size_t(term) * chunks;
    result[term] = reduction::fold_on_cpu<Body>(0, chunks, [&](std::size_t i) { return p[i]; });
  }
}

/// result[t] = body(0, t) (+) body(1, t) (+) ... on the device of ctx; result is device memory.
/// Does not wait.
template <class Body>
void reduce(const Context& ctx, std::size_t count, int terms, const Body& body,
            const ReduceWorkspace& work, double* result) {
  backend::dispatch(
      ctx, [&](auto target) { reduce(target, count, terms, body, work.partial(), result); });
}

}  // namespace freeflow
