// Private: the two backends of JointHistogram, and the CUDA entries of every scheme, one file each.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

namespace freeflow {

/// What a scheme is asked to do. The estimator is never parzen_both: its filter over the rows comes
/// after the count.
struct Counting {
  HistogramShape shape;
  HistogramInput input;
  std::uint64_t* scratch = nullptr;
  std::uint64_t* histogram = nullptr;  ///< to be overwritten
};

inline std::size_t count_of(const HistogramInput& input) {
  if (const auto* binned = std::get_if<BinnedPair>(&input)) return binned->count;
  if (const auto* sampled = std::get_if<SampledPair>(&input)) return sampled->count;
  return std::get<WarpedPair>(input).fixed_bin.extent.count();
}

/// The schemes differ in how a GPU counts; the CPU takes every name and has one way (cpu.cpp).
void count_joint(backend::Cpu, HistogramScheme, const Counting&);
std::size_t scratch_bytes(backend::Cpu, HistogramScheme, const HistogramShape&,
                          std::size_t max_count);

/// Picks the scheme (cuda.cu).
void count_joint(backend::Cuda, HistogramScheme, const Counting&);
std::size_t scratch_bytes(backend::Cuda, HistogramScheme, const HistogramShape&,
                          std::size_t max_count);

/// One CUDA scheme: how much scratch it needs, and the count.
struct CudaScheme {
  std::size_t (*scratch_bytes)(const HistogramShape&, std::size_t max_count);
  void (*count)(backend::Cuda, const Counting&);
};

extern const CudaScheme global_atomic_scheme, warp_private_scheme, thread_private_scheme,
    sort_and_count_scheme, multi_bin_cache_scheme, multi_bin_skip_scheme, banded_scheme,
    banded_flush_scheme, shared_atomic_scheme;

}  // namespace freeflow
