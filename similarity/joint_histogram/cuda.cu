// Picks the CUDA kernels of a scheme. A new scheme is one file and one line here.
#include <freeflow/similarity/joint_histogram/fixed_window_body.h>
#include <freeflow/similarity/joint_histogram/schemes.h>
#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/shares.cuh>

namespace freeflow {

namespace {

const CudaScheme& entry(HistogramScheme scheme) {
  switch (scheme) {
    case HistogramScheme::global_atomic: return global_atomic_scheme;
    case HistogramScheme::warp_private: return warp_private_scheme;
    case HistogramScheme::thread_private: return thread_private_scheme;
    case HistogramScheme::sort_and_count: return sort_and_count_scheme;
    case HistogramScheme::multi_bin_cache: return multi_bin_cache_scheme;
    case HistogramScheme::multi_bin_skip: return multi_bin_skip_scheme;
    case HistogramScheme::banded: return banded_scheme;
    case HistogramScheme::banded_flush: return banded_flush_scheme;
    case HistogramScheme::automatic:
    case HistogramScheme::shared_atomic: break;
  }
  return shared_atomic_scheme;
}

}  // namespace

void count_joint(backend::Cuda cuda, HistogramScheme scheme, const Counting& counting) {
  entry(scheme).count(cuda, counting);
}

std::size_t scratch_bytes(backend::Cuda cuda, HistogramScheme scheme, const HistogramShape& shape,
                          std::size_t max_count) {
  const CudaScheme& chosen = entry(scheme);
  const bool shared = &chosen == &shared_atomic_scheme;  // which all GPUs count by
  return chosen.scratch_bytes(shape, max_count) * std::size_t(shared ? cuda.gpus : 1);
}

template void for_each_voxel(backend::Cuda, Extent, const FixedWindowBody&);

}  // namespace freeflow
