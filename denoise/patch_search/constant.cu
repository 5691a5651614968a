// Lee's fastest: all threads read the same word of the pass at the same time, which constant memory
// broadcasts.
#include <mutex>

#include <freeflow/denoise/patch_search/multipass.cuh>

namespace freeflow {

namespace {

__constant__ float pass_patches[multipass::constant_words];

struct ConstantSource {
  int length;
  __device__ int row(int i) const { return i * length; }
  __device__ float value(int at) const { return pass_patches[at]; }
};

std::size_t scratch_bytes(const PatchView&, int, int) { return 0; }

void run(backend::Cuda cuda, const Search& s) {
  const auto stream = static_cast<cudaStream_t>(cuda.stream);
  const PatchView& p = s.patches;
  void* target = nullptr;
  cuda_check(cudaGetSymbolAddress(&target, pass_patches));
  // There is one such memory per GPU: searches of other contexts wait their turn, until this one
  // has read its last pass.
  static std::mutex turn;
  const std::lock_guard<std::mutex> lock(turn);
  multipass::run(cuda, s, [&](int begin, int end) {
    cuda_check(cudaMemcpy2DAsync(target, sizeof(float) * p.length,
                                 p.values + std::size_t(begin) * p.stride, sizeof(float) * p.stride,
                                 sizeof(float) * p.length, end - begin, cudaMemcpyDeviceToDevice,
                                 stream));
    return ConstantSource{p.length};
  });
  cuda_check(cudaStreamSynchronize(stream));
}

}  // namespace

const CudaSearch constant_search{multipass::runs_here, scratch_bytes, run};

}  // namespace freeflow
