// The patches of a pass stay where they are; the caches have to serve the threads that read the
// same word.
#include <freeflow/denoise/patch_search/multipass.cuh>

namespace freeflow {

namespace {

struct GlobalSource {
  const float* values;
  int stride;
  __device__ int row(int i) const { return i * stride; }
  __device__ float value(int at) const { return __ldg(values + at); }
};

std::size_t scratch_bytes(const PatchView&, int, int) { return 0; }

void run(backend::Cuda cuda, const Search& s) {
  const PatchView& p = s.patches;
  multipass::run(cuda, s, [&](int begin, int) {
    return GlobalSource{p.values + std::size_t(begin) * p.stride, p.stride};
  });
}

}  // namespace

const CudaSearch global_search{multipass::runs_here, scratch_bytes, run};

}  // namespace freeflow
